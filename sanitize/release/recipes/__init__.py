"""Designers of releases, one for every estimator of `sanitize.transformers`, with the same names."""
