-- Conversations: what a message needs, what a conversation has learned, and what clients are told of both (document 002).
-- A conversation is a thread, and its row is made by the first that happens to it.
--
-- Whoever changes something of a conversation takes its row, after the thread's row if he takes that as well. So the
-- numbers of its notifications are given in the order in which they become visible, without gaps.
create table heddle.conversation_states (
  id uuid primary key default gen_random_uuid(),
  conversation_id uuid not null unique references heddle.threads (thread_id) on delete cascade,
  values jsonb not null default '{"objective": ""}',
  version bigint not null default 0,
  last_notification bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- The state of a message has the id of the run that answers it, and goes with it.
create table heddle.states (
  id uuid primary key references heddle.runs (run_id) on delete cascade,
  conversation_id uuid not null,
  values jsonb not null,
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index states_of_conversation on heddle.states (conversation_id);
create index states_created on heddle.states (created_at);

create table heddle.notifications (
  conversation_id uuid not null references heddle.conversation_states (conversation_id) on delete cascade,
  seq bigint not null,
  type text not null,
  -- Ids and versions: what to fetch.
  about jsonb not null,
  created_at timestamptz not null default now(),
  primary key (conversation_id, seq)
);
create index notifications_created on heddle.notifications (created_at);

-- A list and what of another it does not have yet. `@>` is quick and also says yes to objects that only have more keys.
create function heddle.append_new(list jsonb, more jsonb) returns jsonb language sql immutable as $$
  select coalesce(list, '[]') || coalesce(
    (select jsonb_agg(m.element order by m.place)
     from (select e.element, min(e.place) as place from jsonb_array_elements(more) with ordinality as e (element, place)
           group by e.element) m
     where not (coalesce(list, '[]') @> jsonb_build_array(m.element)
       and exists (select 1 from jsonb_array_elements(list) old where old = m.element))),
    '[]')
$$;

-- What is cleared and then appended to, in changes that are written together, begins anew.
create function heddle.merge_values(held jsonb, replaced jsonb, appended jsonb, cleared text[]) returns jsonb
language sql immutable as $$
  select (held - cleared) || replaced || coalesce(
    (select jsonb_object_agg(a.key, heddle.append_new((held - cleared) -> a.key, a.value)) from jsonb_each(appended) a),
    '{}')
$$;

create function heddle.notify_conversation(thread uuid, kind text, about jsonb) returns void language sql as $$
  with counted as (
    insert into heddle.conversation_states as c (conversation_id, last_notification) values (thread, 1)
    on conflict (conversation_id) do update set last_notification = c.last_notification + 1
    returning last_notification
  )
  insert into heddle.notifications (conversation_id, seq, type, about)
  select thread, last_notification, kind, about from counted
$$;

-- Only what is a conversation pays for being one: a thread that somebody has patched or follows, or whose run is deep
-- research or has used it. For other threads no message's state and no notification is written: with them a claim and an end
-- of a run took half as long again. What such a state would hold is computed when somebody asks.

create function heddle.message_values(run heddle.runs) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'messageId', coalesce(run.kwargs #>> '{input,messages,-1,id}', run.run_id::text),
    'conversationId', run.thread_id,
    'userId', run.kwargs #>> '{config,configurable,langgraph_auth_user_id}',
    'source', coalesce(run.metadata ->> 'source', 'api'),
    'isDeepResearch', coalesce(run.metadata -> 'isDeepResearch' = 'true', false)
  ))
$$;

-- A job is a run. Who claims or ends one holds the thread's row.
create function heddle.note_job() returns trigger language plpgsql as $$
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
$$;
create trigger note_job after update of status, attempt on heddle.runs
  for each row
  when (new.attempt <> old.attempt or (old.finished_at is null and new.finished_at is not null))
  execute function heddle.note_job();

-- A run that is rolled back has started for those who follow, and is to end for them. Not with its thread.
create function heddle.note_rollback() returns trigger language plpgsql as $$
begin
  if exists (select 1 from heddle.threads t where t.thread_id = old.thread_id)
    and exists (select 1 from heddle.conversation_states c where c.conversation_id = old.thread_id) then
    perform heddle.notify_conversation(
      old.thread_id, 'job:failed', jsonb_build_object('run_id', old.run_id, 'attempt', old.attempt)
    );
  end if;
  return null;
end
$$;
create trigger note_rollback after delete on heddle.runs
  for each row when (old.status = 'running') execute function heddle.note_rollback();

-- Of the runs that are marked as deep research, a thread has one at a time that nobody has told to stop.
create unique index deep_research_unfinished on heddle.runs (thread_id)
  where finished_at is null and cancel_action is null and metadata -> 'isDeepResearch' = 'true';
create index deep_research on heddle.runs (thread_id, run_number desc)
  where metadata -> 'isDeepResearch' = 'true';
