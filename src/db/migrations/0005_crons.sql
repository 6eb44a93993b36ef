-- Crons: runs that are made again and again, as a schedule says. thread_id null: each run has a thread of its own, and
-- on_run_completed says whether that is kept. payload is the body of the run's request as the client sent it (json, not
-- jsonb: byte for byte); caller, thread_scope and assistant_scope are who made the cron and what he saw then.
-- next_run_date is null when nothing is to come: the cron is disabled, or its end has passed. Whoever makes the run moves
-- it on in the same transaction, so that a firing makes one run, whatever dies and however many look.
create table heddle.crons (
  cron_id uuid primary key,
  assistant_id uuid not null references heddle.assistants (assistant_id) on delete cascade,
  thread_id uuid references heddle.threads (thread_id) on delete cascade,
  schedule text not null,
  timezone text,
  end_time timestamptz,
  enabled boolean not null,
  on_run_completed text check (on_run_completed in ('delete', 'keep')),
  payload json not null,
  metadata jsonb not null,
  user_id text,
  caller jsonb,
  thread_scope jsonb,
  assistant_scope jsonb,
  next_run_date timestamptz,
  last_failure jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index crons_due on heddle.crons (next_run_date) where next_run_date is not null;
create index crons_of_thread on heddle.crons (thread_id);
create index crons_of_assistant on heddle.crons (assistant_id);
create index crons_created on heddle.crons (created_at desc);
create index crons_metadata on heddle.crons using gin (metadata jsonb_path_ops);
