-- Made by `npm run schema` from the migrations. Do not edit.

create table heddle.assistant_versions (
  assistant_id uuid not null,
  version integer not null,
  graph_id text not null,
  name text not null,
  description text,
  config jsonb not null,
  context jsonb not null,
  metadata jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint assistant_versions_assistant_id_fkey FOREIGN KEY (assistant_id) REFERENCES heddle.assistants(assistant_id) ON DELETE CASCADE,
  constraint assistant_versions_pkey PRIMARY KEY (assistant_id, version)
);

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
  system boolean not null default false,
  last_version integer not null default 1,
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

create table heddle.conversation_states (
  id uuid not null default gen_random_uuid(),
  conversation_id uuid not null,
  values jsonb not null default '{"objective": ""}'::jsonb,
  version bigint not null default 0,
  last_notification bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint conversation_states_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES heddle.threads(thread_id) ON DELETE CASCADE,
  constraint conversation_states_conversation_id_key UNIQUE (conversation_id),
  constraint conversation_states_pkey PRIMARY KEY (id)
);

create table heddle.crons (
  cron_id uuid not null,
  assistant_id uuid not null,
  thread_id uuid,
  schedule text not null,
  timezone text,
  end_time timestamp with time zone,
  enabled boolean not null,
  on_run_completed text,
  payload json not null,
  metadata jsonb not null,
  user_id text,
  caller jsonb,
  thread_scope jsonb,
  assistant_scope jsonb,
  next_run_date timestamp with time zone,
  last_failure jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint crons_assistant_id_fkey FOREIGN KEY (assistant_id) REFERENCES heddle.assistants(assistant_id) ON DELETE CASCADE,
  constraint crons_on_run_completed_check CHECK ((on_run_completed = ANY (ARRAY['delete'::text, 'keep'::text]))),
  constraint crons_pkey PRIMARY KEY (cron_id),
  constraint crons_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES heddle.threads(thread_id) ON DELETE CASCADE
);

create table heddle.deleted_runs (
  run_id uuid not null,
  constraint deleted_runs_pkey PRIMARY KEY (run_id)
);

create table heddle.deleted_threads (
  thread_id uuid not null,
  constraint deleted_threads_pkey PRIMARY KEY (thread_id)
);

create table heddle.migrations (
  number integer not null,
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (number)
);

create table heddle.notifications (
  conversation_id uuid not null,
  seq bigint not null,
  type text not null,
  about jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint notifications_conversation_id_fkey FOREIGN KEY (conversation_id) REFERENCES heddle.conversation_states(conversation_id) ON DELETE CASCADE,
  constraint notifications_pkey PRIMARY KEY (conversation_id, seq)
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
  cancel_reason text,
  webhook text generated always as (
CASE
    WHEN ((kwargs)::text ~~ '%"webhook":%'::text) THEN (kwargs ->> 'webhook'::text)
    ELSE NULL::text
END) stored,
  stream_base bigint,
  stream_started_at timestamp with time zone,
  constraint runs_cancel_action_check CHECK ((cancel_action = ANY (ARRAY['interrupt'::text, 'rollback'::text]))),
  constraint runs_events_check CHECK ((events = ANY (ARRAY['kept'::text, 'expired'::text, 'deleted'::text]))),
  constraint runs_idempotency_key_key UNIQUE (idempotency_key),
  constraint runs_pkey PRIMARY KEY (run_id),
  constraint runs_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'success'::text, 'error'::text, 'timeout'::text, 'interrupted'::text]))),
  constraint runs_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES heddle.threads(thread_id) ON DELETE CASCADE
);

create table heddle.session_messages (
  owner text not null,
  session_id text not null,
  seq bigint not null,
  id_digest bytea,
  message text not null,
  constraint session_messages_owner_session_id_id_digest_key UNIQUE (owner, session_id, id_digest),
  constraint session_messages_pkey PRIMARY KEY (owner, session_id, seq)
);

create table heddle.sessions (
  owner text not null,
  session_id text not null,
  message_store text,
  service_thread_id text,
  last_seq bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint sessions_check CHECK ((num_nonnulls(message_store, service_thread_id) = 1)),
  constraint sessions_pkey PRIMARY KEY (owner, session_id)
);

create table heddle.states (
  id uuid not null,
  conversation_id uuid not null,
  values jsonb not null,
  version bigint not null default 1,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint states_id_fkey FOREIGN KEY (id) REFERENCES heddle.runs(run_id) ON DELETE CASCADE,
  constraint states_pkey PRIMARY KEY (id)
);

create table heddle.store_indexes (
  index_id integer not null generated always as identity,
  signature text not null,
  chosen_at timestamp with time zone not null,
  embedding_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint store_indexes_pkey PRIMARY KEY (index_id),
  constraint store_indexes_signature_key UNIQUE (signature)
);

create table heddle.store_items (
  item_id bigint not null generated always as identity,
  owner text not null,
  namespace text[] not null,
  key text not null,
  value jsonb not null,
  ttl_minutes double precision,
  expires_at timestamp with time zone,
  index_fields jsonb,
  index_id integer,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint store_items_item_id_key UNIQUE (item_id),
  constraint store_items_pkey PRIMARY KEY (owner, namespace, key)
);

create table heddle.store_vectors (
  item_id bigint not null,
  position integer not null,
  embedding real[] not null,
  constraint store_vectors_item_id_fkey FOREIGN KEY (item_id) REFERENCES heddle.store_items(item_id) ON DELETE CASCADE,
  constraint store_vectors_pkey PRIMARY KEY (item_id, "position")
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
  state_updated_at timestamp with time zone not null default now(),
  ttl_minutes double precision,
  ttl_strategy text not null default 'delete'::text,
  constraint threads_pkey PRIMARY KEY (thread_id),
  constraint threads_status_check CHECK ((status = ANY (ARRAY['idle'::text, 'busy'::text, 'interrupted'::text, 'error'::text]))),
  constraint threads_ttl_minutes_check CHECK ((ttl_minutes > (0)::double precision)),
  constraint threads_ttl_strategy_check CHECK ((ttl_strategy = ANY (ARRAY['delete'::text, 'keep_latest'::text])))
);

create table heddle.webhooks (
  run_id uuid not null,
  thread_id uuid not null,
  target text not null,
  host text not null generated always as (COALESCE(lower("substring"(target, '^[A-Za-z]+://([^/?#]*)'::text)), ''::text)) stored,
  run json not null,
  run_started_at timestamp with time zone,
  run_ended_at timestamp with time zone not null,
  attempts integer not null default 0,
  due_at timestamp with time zone default clock_timestamp(),
  last_error text,
  constraint webhooks_pkey PRIMARY KEY (run_id)
);

create table heddle.workflow_checkpoints (
  thread_id uuid not null,
  checkpoint_id uuid not null,
  workflow_id text not null,
  is_automatic boolean not null,
  document json not null,
  created_at timestamp with time zone not null,
  constraint workflow_checkpoints_pkey PRIMARY KEY (thread_id, checkpoint_id),
  constraint workflow_checkpoints_thread_id_fkey FOREIGN KEY (thread_id) REFERENCES heddle.threads(thread_id) ON DELETE CASCADE
);

CREATE INDEX assistants_metadata ON heddle.assistants USING gin (metadata jsonb_path_ops);
CREATE INDEX checkpoints_latest ON heddle.checkpoints USING btree (thread_id, checkpoint_ns, seq DESC);
CREATE INDEX crons_created ON heddle.crons USING btree (created_at DESC);
CREATE INDEX crons_due ON heddle.crons USING btree (next_run_date) WHERE (next_run_date IS NOT NULL);
CREATE INDEX crons_metadata ON heddle.crons USING gin (metadata jsonb_path_ops);
CREATE INDEX crons_of_assistant ON heddle.crons USING btree (assistant_id);
CREATE INDEX crons_of_thread ON heddle.crons USING btree (thread_id);
CREATE INDEX deep_research ON heddle.runs USING btree (thread_id, run_number DESC) WHERE ((metadata -> 'isDeepResearch'::text) = 'true'::jsonb);
CREATE UNIQUE INDEX deep_research_unfinished ON heddle.runs USING btree (thread_id) WHERE ((finished_at IS NULL) AND (cancel_action IS NULL) AND ((metadata -> 'isDeepResearch'::text) = 'true'::jsonb));
CREATE INDEX notifications_created ON heddle.notifications USING btree (created_at);
CREATE INDEX runs_of_thread ON heddle.runs USING btree (thread_id, run_number DESC);
CREATE INDEX runs_unfinished ON heddle.runs USING btree (run_number) WHERE (finished_at IS NULL);
CREATE INDEX runs_unfinished_of_thread ON heddle.runs USING btree (thread_id, run_number) WHERE (finished_at IS NULL);
CREATE INDEX runs_with_events ON heddle.runs USING btree (finished_at) WHERE ((events <> 'deleted'::text) AND (finished_at IS NOT NULL));
CREATE INDEX states_created ON heddle.states USING btree (created_at);
CREATE INDEX states_of_conversation ON heddle.states USING btree (conversation_id);
CREATE INDEX store_items_expiry ON heddle.store_items USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX store_items_index ON heddle.store_items USING btree (index_id);
CREATE INDEX threads_created ON heddle.threads USING btree (created_at DESC);
CREATE INDEX threads_delete_after ON heddle.threads USING btree (delete_after) WHERE (delete_after IS NOT NULL);
CREATE INDEX threads_metadata ON heddle.threads USING gin (metadata jsonb_path_ops);
CREATE INDEX webhooks_due ON heddle.webhooks USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX webhooks_given_up ON heddle.webhooks USING btree (run_ended_at) WHERE (due_at IS NULL);
CREATE INDEX workflow_checkpoints_of_thread ON heddle.workflow_checkpoints USING btree (thread_id, created_at DESC);

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

CREATE OR REPLACE FUNCTION heddle.add_webhook()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into heddle.webhooks (run_id, thread_id, target, run, run_started_at, run_ended_at)
  values (
    new.run_id, new.thread_id, new.webhook,
    json_build_object(
      'run_id', new.run_id, 'thread_id', new.thread_id, 'assistant_id', new.assistant_id, 'metadata', new.metadata,
      'status', new.status, 'kwargs', new.kwargs, 'multitask_strategy', new.multitask_strategy,
      'created_at', new.created_at, 'updated_at', new.updated_at, 'error', new.error
    ),
    case when old.status = 'running' then old.updated_at end, new.finished_at
  );
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.append_new(list jsonb, more jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(list, '[]') || coalesce(
    (select jsonb_agg(m.element order by m.place)
     from (select e.element, min(e.place) as place from jsonb_array_elements(more) with ordinality as e (element, place)
           group by e.element) m
     where not (coalesce(list, '[]') @> jsonb_build_array(m.element)
       and exists (select 1 from jsonb_array_elements(list) old where old = m.element))),
    '[]')
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
  delete from heddle.run_events
  where ctid = any (array(select e.ctid from gone join heddle.run_events e on e.run_id = gone.run_id limit 10000));
  insert into heddle.deleted_runs (run_id)
  select gone.run_id from gone
  where exists (select 1 from heddle.run_events e where e.run_id = gone.run_id)
  on conflict do nothing;
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

CREATE OR REPLACE FUNCTION heddle.merge_values(held jsonb, replaced jsonb, appended jsonb, cleared text[])
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select (held - cleared) || replaced || coalesce(
    (select jsonb_object_agg(a.key, heddle.append_new((held - cleared) -> a.key, a.value)) from jsonb_each(appended) a),
    '{}')
$function$;

CREATE OR REPLACE FUNCTION heddle.message_values(run heddle.runs)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object(
    'messageId', coalesce(run.kwargs #>> '{input,messages,-1,id}', run.run_id::text),
    'conversationId', run.thread_id,
    'userId', run.kwargs #>> '{config,configurable,langgraph_auth_user_id}',
    'source', coalesce(run.metadata ->> 'source', 'api'),
    'isDeepResearch', coalesce(run.metadata -> 'isDeepResearch' = 'true', false)
  ))
$function$;

CREATE OR REPLACE FUNCTION heddle.note_job()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  message text;
begin
  if new.metadata -> 'isDeepResearch' is distinct from 'true'
    and not exists (select 1 from heddle.conversation_states c where c.conversation_id = new.thread_id) then
    return null;
  end if;
  if new.attempt <> old.attempt then
    insert into heddle.states (id, conversation_id, values)
    values (new.run_id, new.thread_id, heddle.message_values(new))
    on conflict (id) do nothing;
  end if;
  select s.values ->> 'messageId' into message from heddle.states s where s.id = new.run_id;
  perform heddle.notify_conversation(
    new.thread_id,
    case when new.finished_at is null then 'job:started'
      when new.status = 'success' then 'job:completed' else 'job:failed' end,
    jsonb_strip_nulls(jsonb_build_object('run_id', new.run_id, 'message_id', message, 'attempt', new.attempt))
  );
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.note_rollback()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select 1 from heddle.threads t where t.thread_id = old.thread_id)
    and exists (select 1 from heddle.conversation_states c where c.conversation_id = old.thread_id) then
    perform heddle.notify_conversation(
      old.thread_id, 'job:failed', jsonb_build_object('run_id', old.run_id, 'attempt', old.attempt)
    );
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.note_state()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.state_updated_at := new.updated_at;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.notify_conversation(thread uuid, kind text, about jsonb)
 RETURNS void
 LANGUAGE sql
AS $function$
  with counted as (
    insert into heddle.conversation_states as c (conversation_id, last_notification) values (thread, 1)
    on conflict (conversation_id) do update set last_notification = c.last_notification + 1
    returning last_notification
  )
  insert into heddle.notifications (conversation_id, seq, type, about)
  select thread, last_notification, kind, about from counted
$function$;

CREATE OR REPLACE FUNCTION heddle.place_run_in_stream()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.stream_started_at := clock_timestamp();
  if new.fencing_token is not null then
    new.stream_base := new.fencing_token << 28;
  else
    select greatest(
      (t.fencing_token << 28) + (1 << 27),
      (select max(r.stream_base) + 2 from heddle.runs r where r.thread_id = t.thread_id)
    ) into new.stream_base
    from heddle.threads t where t.thread_id = new.thread_id;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.put_off_expiry()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.delete_after := clock_timestamp() + make_interval(secs => new.ttl_minutes * 60);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION heddle.refuse_leftovers()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select 1 from heddle.deleted_threads d where d.thread_id = new.thread_id) then
    raise exception 'thread % is still being deleted', new.thread_id using errcode = '55P03';
  end if;
  return null;
end
$function$;

CREATE TRIGGER add_webhook AFTER UPDATE OF status ON heddle.runs FOR EACH ROW WHEN (((new.webhook IS NOT NULL) AND (old.finished_at IS NULL) AND (new.finished_at IS NOT NULL))) EXECUTE FUNCTION heddle.add_webhook();

CREATE TRIGGER delete_events AFTER DELETE ON heddle.runs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION heddle.delete_events();

CREATE TRIGGER note_job AFTER UPDATE OF status, attempt ON heddle.runs FOR EACH ROW WHEN (((new.attempt <> old.attempt) OR ((old.finished_at IS NULL) AND (new.finished_at IS NOT NULL)))) EXECUTE FUNCTION heddle.note_job();

CREATE TRIGGER note_rollback AFTER DELETE ON heddle.runs FOR EACH ROW WHEN ((old.status = 'running'::text)) EXECUTE FUNCTION heddle.note_rollback();

CREATE TRIGGER note_state BEFORE UPDATE ON heddle.threads FOR EACH ROW WHEN (((new.fencing_token <> old.fencing_token) AND (new.updated_at <> old.updated_at))) EXECUTE FUNCTION heddle.note_state();

CREATE TRIGGER place_run_in_stream BEFORE UPDATE ON heddle.runs FOR EACH ROW WHEN (((old.stream_base IS NULL) AND ((new.fencing_token IS NOT NULL) OR (new.status <> ALL (ARRAY['pending'::text, 'running'::text]))))) EXECUTE FUNCTION heddle.place_run_in_stream();

CREATE TRIGGER put_off_expiry BEFORE UPDATE ON heddle.threads FOR EACH ROW WHEN (((new.ttl_minutes IS NOT NULL) AND (new.updated_at <> old.updated_at) AND (NOT (new.delete_after IS DISTINCT FROM old.delete_after)))) EXECUTE FUNCTION heddle.put_off_expiry();

CREATE TRIGGER refuse_leftovers AFTER INSERT ON heddle.threads FOR EACH ROW EXECUTE FUNCTION heddle.refuse_leftovers();
