-- Vectors as arrays of numbers, which pgvector can index and compare, where it is there. Those from before are made anew.
delete from heddle.store_vectors;
alter table heddle.store_vectors drop column embedding;
-- Of length 1, or all zero.
alter table heddle.store_vectors add column embedding real[] not null;
-- Nearly random bytes: compressing them takes time and saves nothing.
alter table heddle.store_vectors alter column embedding set storage external;
update heddle.store_items set index_id = null where index_id > 0;
