-- Named checkpoints of workflows (src/checkpoints/): each is whole in its document, so that it outlives what is pruned
-- from the thread's own checkpoints. json, not jsonb: byte for byte.
create table heddle.workflow_checkpoints (
  thread_id uuid not null references heddle.threads (thread_id) on delete cascade,
  checkpoint_id uuid not null,
  workflow_id text not null,
  -- Nobody has asked for it: the oldest of these go.
  is_automatic boolean not null,
  document json not null,
  created_at timestamptz not null,
  primary key (thread_id, checkpoint_id)
);
create index workflow_checkpoints_of_thread on heddle.workflow_checkpoints (thread_id, created_at desc);
