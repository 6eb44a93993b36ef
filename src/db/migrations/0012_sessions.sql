-- Sessions (document 003): conversations that outlive the threads of their runs. Kept by the model's provider, by whose id
-- they are found there, or by a message store of ours. Which of the two never changes.
create table heddle.sessions (
  owner text not null,
  session_id text not null,
  message_store text,
  service_thread_id text,
  last_seq bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (owner, session_id),
  check (num_nonnulls(message_store, service_thread_id) = 1)
);

-- The messages of sessions whose store is PostgreSQL.
create table heddle.session_messages (
  owner text not null,
  session_id text not null,
  seq bigint not null,
  -- SHA-256 of its id, which a client may have made as long as he likes; null for a message without one.
  id_digest bytea,
  -- JSON text, as it is: jsonb would refuse a NUL.
  message text not null,
  primary key (owner, session_id, seq),
  unique (owner, session_id, id_digest)
);
