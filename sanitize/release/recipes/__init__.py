"""Designers of releases, one for every estimator of `sanitize.transformers`, which has its name."""
