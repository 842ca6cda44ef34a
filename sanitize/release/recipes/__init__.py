"""Recipes of releases, one for each estimator of `sanitize.transformers` and named after it."""
