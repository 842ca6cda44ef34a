from . import dask as dask, parquet as parquet, spark as spark, sql as sql
