-- Made by `npm run schema` from the migrations. Do not edit.

create table heddle.assistants (
  assistant_id uuid not null,
  graph_id text not null,
  name text not null,
  description text,
  config jsonb not null default '{}'::jsonb,
  context jsonb not null default '{}'::jsonb,
  metadata jsonb not null default '{}'::jsonb,
  version integer not null default 1,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint assistants_pkey PRIMARY KEY (assistant_id)
);

create table heddle.checkpoint_blobs (
  thread_id text not null,
  checkpoint_ns text not null default ''::text,
  channel text not null,
  version text not null,
  type text not null,
  blob bytea,
  constraint checkpoint_blobs_pkey PRIMARY KEY (thread_id, checkpoint_ns, channel, version)
);

create table heddle.checkpoint_migrations (
  v integer not null,
  constraint checkpoint_migrations_pkey PRIMARY KEY (v)
);

create table heddle.checkpoint_writes (
  thread_id text not null,
  checkpoint_ns text not null default ''::text,
  checkpoint_id text not null,
  task_id text not null,
  idx integer not null,
  channel text not null,
  type text,
  blob bytea not null,
  constraint checkpoint_writes_pkey PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

create table heddle.checkpoints (
  thread_id text not null,
  checkpoint_ns text not null default ''::text,
  checkpoint_id text not null,
  parent_checkpoint_id text,
  type text,
  checkpoint jsonb not null,
  metadata jsonb not null default '{}'::jsonb,
  seq bigint not null generated always as identity,
  constraint checkpoints_pkey PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);

create table heddle.migrations (
  number integer not null,
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (number)
);

create table heddle.run_events (
  run_id uuid not null,
  seq integer not null,
  event text not null,
  data text not null,
  is_pointer boolean not null default false,
  constraint run_events_pkey PRIMARY KEY (run_id, seq)
);

create table heddle.runs (
  run_id uuid not null,
  thread_id uuid not null,
  assistant_id uuid not null,
  run_number bigint not null generated always as identity,
  status text not null default 'pending'::text,
  kwargs json not null,
  metadata jsonb not null default '{}'::jsonb,
  multitask_strategy text not null,
  cancel_action text,
  error json,
  idempotency_key text,
  request_digest text,
  events text not null default 'kept'::text,
  attempt integer not null default 0,
  crashes integer not null default 0,
  fencing_token bigint,
  lease_owner text,
  lease_until timestamp with time zone,
  lease_renewed_at timestamp with time zone,
  available_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone generated always as (
CASE
    WHEN (status = ANY (ARRAY['pending'::text, 'running'::text])) THEN NULL::timestamp with time zone
    ELSE updated_at
END) stored,
  constraint runs_cancel_action_check CHECK ((cancel_action = ANY (ARRAY['interrupt'::text, 'rollback'::text]))),
  constraint runs_events_check CHECK ((events = ANY (ARRAY['kept'::text, 'expired'::text, 'deleted'::text]))),
  constraint runs_idempotency_key_key UNIQUE (idempotency_key),
  constraint runs_pkey PRIMARY KEY (run_id),
  constraint runs_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'success'::text, 'error'::text, 'timeout'::text, 'interrupted'::text]))),
  constraint runs_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES heddle.threads(thread_id) ON DELETE CASCADE
);

create table heddle.threads (
  thread_id uuid not null,
  status text not null default 'idle'::text,
  metadata jsonb not null default '{}'::jsonb,
  config jsonb not null default '{}'::jsonb,
  interrupts jsonb not null default '{}'::jsonb,
  error text,
  fencing_token bigint not null default 0,
  delete_after timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint threads_pkey PRIMARY KEY (thread_id),
  constraint threads_status_check CHECK ((status = ANY (ARRAY['idle'::text, 'busy'::text, 'interrupted'::text, 'error'::text])))
);

CREATE INDEX checkpoints_latest ON heddle.checkpoints USING btree (thread_id, checkpoint_ns, seq DESC);
CREATE INDEX runs_of_thread ON heddle.runs USING btree (thread_id, run_number DESC);
CREATE INDEX runs_unfinished ON heddle.runs USING btree (run_number) WHERE (finished_at IS NULL);
CREATE INDEX runs_unfinished_of_thread ON heddle.runs USING btree (thread_id, run_number) WHERE (finished_at IS NULL);
CREATE INDEX runs_with_events ON heddle.runs USING btree (finished_at) WHERE ((events <> 'deleted'::text) AND (finished_at IS NOT NULL));
CREATE INDEX threads_created ON heddle.threads USING btree (created_at DESC);
CREATE INDEX threads_delete_after ON heddle.threads USING btree (delete_after) WHERE (delete_after IS NOT NULL);
CREATE INDEX threads_metadata ON heddle.threads USING gin (metadata jsonb_path_ops);

CREATE OR REPLACE FUNCTION heddle.add_run(thread uuid, version text, thread_metadata jsonb, thread_config jsonb, run uuid, assistant uuid, kwargs json, metadata jsonb, strategy text, after_seconds double precision)
 RETURNS SETOF heddle.runs
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from heddle.threads t where t.thread_id = thread and t.xmin::text = version for no key update;
  if not found then
    return;
  end if;
  if exists (select 1 from heddle.runs r where r.thread_id = thread and r.finished_at is null) then
    return;
  end if;
  update heddle.threads t
  set status = 'busy', metadata = t.metadata || thread_metadata, config = thread_config, updated_at = clock_timestamp()
  where t.thread_id = thread;
  return query
    insert into heddle.runs
      (run_id, thread_id, assistant_id, kwargs, metadata, multitask_strategy, available_at)
    values (run, thread, assistant, kwargs, metadata, strategy,
      clock_timestamp() + make_interval(secs => after_seconds))
    returning *;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.claim_run(owner text, lease interval, max_crashes integer, below_crashes integer)
 RETURNS SETOF heddle.runs
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
declare
  candidate uuid;
  claimed heddle.runs;
  crash constant json := json_build_object(
    'error', 'RunCrashed',
    'message', format('The run ended its worker %s times and is not tried again.', max_crashes)
  );
begin
  for candidate in
    select r.thread_id
    from heddle.runs r
    where r.finished_at is null
      and ((r.status = 'pending' and r.available_at <= clock_timestamp())
        or (r.status = 'running' and r.lease_until < clock_timestamp()))
      and not exists (
        select 1 from heddle.runs live
        where live.thread_id = r.thread_id and live.finished_at is null
          and live.status = 'running' and live.lease_until >= clock_timestamp()
      )
    order by r.run_number
    limit 100
  loop
    perform 1 from heddle.threads t where t.thread_id = candidate for update skip locked;
    continue when not found;

    -- Locked, since its worker may renew the lease at this moment.
    select * into claimed
    from heddle.runs r
    where r.thread_id = candidate and r.finished_at is null
      and (r.status = 'running' or (r.status = 'pending' and r.available_at <= clock_timestamp()))
    order by r.status = 'running' desc, r.run_number
    limit 1
    for no key update;
    continue when not found or (claimed.status = 'running' and claimed.lease_until >= clock_timestamp());
    if claimed.status = 'running' and claimed.lease_renewed_at > pg_postmaster_start_time() then
      claimed.crashes := claimed.crashes + 1;
    end if;
    continue when claimed.crashes >= below_crashes and claimed.crashes < max_crashes;

    update heddle.threads t
    set fencing_token = t.fencing_token + 1
    where t.thread_id = candidate
    returning t.fencing_token into claimed.fencing_token;

    update heddle.runs r
    set status = 'running',
        attempt = r.attempt + 1,
        crashes = claimed.crashes,
        fencing_token = claimed.fencing_token,
        lease_owner = owner,
        lease_until = clock_timestamp() + lease,
        lease_renewed_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where r.run_id = claimed.run_id
    returning r.* into claimed;

    if claimed.crashes >= max_crashes and claimed.cancel_action is null then
      perform heddle.finish_run(
        claimed.run_id, claimed.fencing_token, 'error', crash, 'error', crash ->> 'message', '{}', null,
        array[(select coalesce(max(e.seq), -1) + 1 from heddle.run_events e where e.run_id = claimed.run_id)],
        array['error'], array[crash::text], array[false]
      );
      claimed.status := 'error';
    end if;
    return next claimed;
    return;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.delete_events()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
begin
  delete from heddle.run_events e using gone where e.run_id = gone.run_id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.finish_run(run uuid, token bigint, new_status text, new_error json, thread_status text, thread_error text, new_interrupts jsonb, keep_seconds integer, seqs integer[], events text[], datas text[], pointers boolean[])
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  thread uuid;
  old_status text;
  action text;
begin
  select r.thread_id into thread from heddle.runs r where r.run_id = run;
  perform 1 from heddle.threads t where t.thread_id = thread for update;

  select r.status, r.cancel_action into old_status, action
  from heddle.runs r
  where r.run_id = run and r.fencing_token = token and r.status in ('running', new_status)
  for no key update;
  if not found then
    return 'lost';
  end if;
  if old_status = new_status then
    return 'done';
  end if;
  if action = 'rollback' then
    return 'rollback';
  end if;

  update heddle.runs r
  set status = new_status, error = new_error, lease_owner = null, lease_until = null, updated_at = clock_timestamp()
  where r.run_id = run;

  insert into heddle.run_events (run_id, seq, event, data, is_pointer)
  select run, e.seq, e.event, e.data, e.is_pointer
  from unnest(seqs, events, datas, pointers) as e (seq, event, data, is_pointer);

  -- Also the token: nothing of this run that is still on its way may come after its end.
  update heddle.threads t
  set fencing_token = greatest(t.fencing_token, token + 1),
      status = case
        when exists (select 1 from heddle.runs r where r.thread_id = thread and r.finished_at is null)
        then 'busy' else thread_status end,
      error = thread_error,
      interrupts = new_interrupts,
      delete_after = case when keep_seconds is null then t.delete_after
        else clock_timestamp() + make_interval(secs => keep_seconds) end,
      updated_at = clock_timestamp()
  where t.thread_id = thread;
  return 'done';
end
$function$;

CREATE TRIGGER delete_events AFTER DELETE ON heddle.runs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION heddle.delete_events();
