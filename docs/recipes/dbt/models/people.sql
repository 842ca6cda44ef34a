-- What was released, and nothing of the raw table.
select * from read_parquet('released.parquet')
