-- The store: items that graphs and clients keep across threads, and the vectors they are found by.

-- Of langgraph.json's `store.index`, each form that a server has had. The one chosen last counts: its servers embed
-- anew what was embedded otherwise.
create table heddle.store_indexes (
  index_id integer primary key generated always as identity,
  signature text not null unique,
  chosen_at timestamptz not null,
  -- Until when one server is embedding anew; the others leave it to that one.
  embedding_until timestamptz not null default '-infinity'
);

create table heddle.store_items (
  item_id bigint not null generated always as identity unique,
  -- Whose item it is; empty when all share one store.
  owner text collate "C" not null,
  namespace text[] collate "C" not null,
  key text collate "C" not null,
  -- In the serializer's form.
  value jsonb not null,
  -- Null: never expires. A read may begin the time anew.
  ttl_minutes double precision,
  expires_at timestamptz,
  -- Paths that are embedded; null: those of the server's index; false: none.
  index_fields jsonb,
  -- By which index its vectors were made; null: by none yet; 0: it is to have none.
  index_id integer,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- "C" puts an array right before all that begin with it: a namespace's prefix is a range of this index.
  primary key (owner, namespace, key)
);

create index store_items_expiry on heddle.store_items (expires_at) where expires_at is not null;
create index store_items_index on heddle.store_items (index_id);

-- Counts only while its item's `index_id` is the asking server's.
create table heddle.store_vectors (
  item_id bigint not null references heddle.store_items (item_id) on delete cascade,
  position integer not null,
  -- Of length 1, or all zero; 32-bit floats, little-endian.
  embedding bytea not null,
  primary key (item_id, position)
);
-- Nearly random bytes: compressing them takes time and saves nothing.
alter table heddle.store_vectors alter column embedding set storage external;
