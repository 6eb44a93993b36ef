-- Checkpoints: the tables of the official PostgresSaver (@langchain/langgraph-checkpoint-postgres 1.0.5), in our schema,
-- plus `seq`: the order in which PostgreSQL took the checkpoints. "Latest" is by seq, never by a worker's clock.
create table heddle.checkpoint_migrations (
  v integer primary key
);
insert into heddle.checkpoint_migrations (v) values (0), (1), (2), (3), (4);

create table heddle.checkpoints (
  thread_id text not null,
  checkpoint_ns text not null default '',
  checkpoint_id text not null,
  parent_checkpoint_id text,
  type text,
  checkpoint jsonb not null,
  metadata jsonb not null default '{}',
  seq bigint generated always as identity,
  primary key (thread_id, checkpoint_ns, checkpoint_id)
);
create index checkpoints_latest on heddle.checkpoints (thread_id, checkpoint_ns, seq desc);

create table heddle.checkpoint_blobs (
  thread_id text not null,
  checkpoint_ns text not null default '',
  channel text not null,
  version text not null,
  type text not null,
  blob bytea,
  primary key (thread_id, checkpoint_ns, channel, version)
);

create table heddle.checkpoint_writes (
  thread_id text not null,
  checkpoint_ns text not null default '',
  checkpoint_id text not null,
  task_id text not null,
  idx integer not null,
  channel text not null,
  type text,
  blob bytea not null,
  primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

create table heddle.assistants (
  assistant_id uuid primary key,
  graph_id text not null,
  name text not null,
  description text,
  config jsonb not null default '{}',
  context jsonb not null default '{}',
  metadata jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- fencing_token only grows. Whoever may write the thread's state holds its newest value; every checkpoint, event and
-- status write of a run carries the token it was claimed with and is refused once the thread has a newer one.
create table heddle.threads (
  thread_id uuid primary key,
  status text not null default 'idle' check (status in ('idle', 'busy', 'interrupted', 'error')),
  metadata jsonb not null default '{}',
  config jsonb not null default '{}',
  interrupts jsonb not null default '{}',
  error text,
  fencing_token bigint not null default 0,
  delete_after timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index threads_created on heddle.threads (created_at desc);
create index threads_metadata on heddle.threads using gin (metadata jsonb_path_ops);
create index threads_delete_after on heddle.threads (delete_after) where delete_after is not null;

-- run_number is the order of acknowledgement. kwargs and error are json, not jsonb: what the client sent comes back
-- to the graph byte for byte.
create table heddle.runs (
  run_id uuid primary key,
  thread_id uuid not null references heddle.threads (thread_id) on delete cascade,
  assistant_id uuid not null,
  run_number bigint generated always as identity,
  status text not null default 'pending'
    check (status in ('pending', 'running', 'success', 'error', 'timeout', 'interrupted')),
  kwargs json not null,
  metadata jsonb not null default '{}',
  multitask_strategy text not null,
  cancel_action text check (cancel_action in ('interrupt', 'rollback')),
  error json,
  attempt integer not null default 0,
  fencing_token bigint,
  lease_owner text,
  lease_until timestamptz,
  available_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index runs_unfinished on heddle.runs (run_number) where status in ('pending', 'running');
create index runs_unfinished_of_thread on heddle.runs (thread_id, run_number) where status in ('pending', 'running');
create index runs_of_thread on heddle.runs (thread_id, run_number desc);

-- The event log. seq counts per run and is given by the lease holder. data is the JSON text that is sent, byte for
-- byte the same to every reader.
create table heddle.run_events (
  run_id uuid not null references heddle.runs (run_id) on delete cascade,
  seq integer not null,
  event text not null,
  data text not null,
  primary key (run_id, seq)
);
