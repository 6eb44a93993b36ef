-- Versions of assistants. `system`: the assistant of a graph of langgraph.json, made by the server and not by a client,
-- whatever its metadata says. `last_version` only grows: a version that is set again as the latest is not a new one, and
-- the next new one must have a number that none has had.
alter table heddle.assistants
  add column system boolean not null default false,
  add column last_version integer not null default 1;
update heddle.assistants set system = true where metadata @> '{"created_by": "system"}';
create index assistants_metadata on heddle.assistants using gin (metadata jsonb_path_ops);

create table heddle.assistant_versions (
  assistant_id uuid not null references heddle.assistants (assistant_id) on delete cascade,
  version integer not null,
  graph_id text not null,
  name text not null,
  description text,
  config jsonb not null,
  context jsonb not null,
  metadata jsonb not null,
  created_at timestamptz not null default now(),
  primary key (assistant_id, version)
);
insert into heddle.assistant_versions
  (assistant_id, version, graph_id, name, description, config, context, metadata, created_at)
select assistant_id, version, graph_id, name, description, config, context, metadata, created_at
from heddle.assistants;
