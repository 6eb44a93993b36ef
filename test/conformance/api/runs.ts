// Runs: taken, waited for, listed, cancelled; every field of the request.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Section, Served } from "./row.ts";

const newThread = async ({ client }: Served) => (await client.threads.create()).thread_id;

/** The state of `steps` after a run. */
interface Steps {
  plan: string[];
  done: string[];
}

const doneOf = (values: unknown) => (values as Steps).done;

const statuses = async ({ client }: Served, threadId: string) =>
  (await client.runs.list(threadId)).map(({ status }) => status);

export const runSection: Section = {
  title: "Runs",
  rows: [
    {
      of: "POST /threads/:id/runs",
      heddle: "takes a run; Content-Location says where it is",
      async check(served) {
        const threadId = await newThread(served);
        const { status, json, headers } = await served.request("POST", `/threads/${threadId}/runs`, {
          assistant_id: "steps",
          input: { plan: ["add"] },
        });
        assert.equal(status, 200);
        assert.partialDeepStrictEqual(json, {
          thread_id: threadId,
          status: "pending",
          multitask_strategy: "reject",
        });
        assert.equal(headers.get("content-location"), `/threads/${threadId}/runs/${json.run_id}`);
        await served.client.runs.join(threadId, json.run_id);
        assert.equal((await served.client.runs.get(threadId, json.run_id)).status, "success");
      },
    },
    {
      of: "POST /threads/:id/runs/wait",
      heddle: "answers the last values as JSON, and white space before them while it takes long",
      dev: "white space each second, content type text/plain",
      why: "it is JSON",
      async check(served) {
        const threadId = await newThread(served);
        const { json, headers } = await served.request("POST", `/threads/${threadId}/runs/wait`, {
          assistant_id: "steps",
          input: { plan: ["add"] },
        });
        assert.deepEqual(json, { plan: [], done: ["add"] });
        assert.match(headers.get("content-type") ?? "", /json/);
      },
    },
    {
      of: "wait and join of a run that fails",
      heddle: 'answer 200 and {"__error__":{"error","message"}}, which the SDK throws',
      dev: "the message is JSON once more",
      why: "it is the error's message",
      async check(served) {
        const threadId = await newThread(served);
        const run = await served.client.runs.create(threadId, "steps", { input: { plan: ["fail"] } });
        const { status, json } = await served.request("GET", `/threads/${threadId}/runs/${run.run_id}/join`);
        const error = { error: "RangeError", message: "asked to fail" };
        assert.deepEqual([status, json], [200, { __error__: error }]);
        await assert.rejects(
          served.client.runs.wait(threadId, "steps", { input: { plan: ["fail"] } }),
          /RangeError: asked to fail/,
        );
      },
    },
    {
      of: "POST /runs, /runs/wait, /runs/stream",
      heddle: "run on a thread of their own, which goes with the run unless on_completion is keep",
      async check({ client }) {
        assert.deepEqual(await client.runs.wait(null, "steps", { input: { plan: ["add"] } }), {
          plan: [],
          done: ["add"],
        });
        const events: string[] = [];
        for await (const { event } of client.runs.stream(null, "steps", { input: { plan: ["add"] } }))
          events.push(event);
        assert.deepEqual(events, ["metadata", "values", "values"]);
        const kept: { run_id?: string; thread_id?: string } = {};
        const options = { input: { plan: ["add"] }, onCompletion: "keep" as const };
        for await (const { event, data } of client.runs.stream(null, "steps", {
          ...options,
          metadata: { kept: true },
        }))
          if (event === "metadata") Object.assign(kept, data);
        const [thread] = await client.threads.search({ metadata: { kept: true }, limit: 1 });
        assert.equal(thread?.status, "idle");
        assert.ok(
          (await client.runs.list(thread?.thread_id ?? "")).some((run) => run.run_id === kept.run_id),
        );
      },
    },
    {
      of: "POST /runs/batch",
      heddle: "takes several stateless runs",
      async check({ client }) {
        const runs = await client.runs.createBatch([
          { assistantId: "steps", input: { plan: ["add"] } },
          { assistantId: "nested", input: { trail: [] } },
        ]);
        assert.equal(runs.length, 2);
        for (const { thread_id, run_id } of runs) await client.runs.join(thread_id, run_id);
      },
    },
    {
      of: "GET /threads/:id/runs",
      heddle: "lists them, the newest first; limit, offset and status are heeded",
      dev: "the oldest first; an offset gives the wrong page",
      why: "it is what the platform answers",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        const made: string[] = [];
        for (const plan of [["add"], ["fail"], ["add"]]) {
          const run = await client.runs.create(threadId, "steps", { input: { plan } });
          await client.runs.join(threadId, run.run_id);
          made.unshift(run.run_id);
        }
        const ids = async (options: object) =>
          (await client.runs.list(threadId, options)).map(({ run_id }) => run_id);
        assert.deepEqual(await ids({}), made);
        assert.deepEqual(await ids({ limit: 1, offset: 1 }), made.slice(1, 2));
        assert.deepEqual(await ids({ status: "error" }), made.slice(1, 2));
      },
    },
    {
      of: "GET /threads/:id/runs/:id",
      heddle: "is 404 `Run not found` for what is not there",
      async check(served) {
        const threadId = await newThread(served);
        await assert.rejects(served.client.runs.get(threadId, randomUUID()), /HTTP 404: Run not found/);
      },
    },
    {
      of: "DELETE /threads/:id/runs/:id",
      heddle: "removes it",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        const run = await client.runs.create(threadId, "steps", { input: { plan: ["add"] } });
        await client.runs.join(threadId, run.run_id);
        await client.runs.delete(threadId, run.run_id);
        await assert.rejects(client.runs.get(threadId, run.run_id), /HTTP 404/);
      },
    },
    {
      of: "POST …/cancel",
      heddle: "ends the run as interrupted: 202 at once with wait=0, 204 when it has ended with wait=1",
      dev: "always waits",
      why: "wait=0 says not to",
      async check(served) {
        for (const [wait, expected] of [
          ["0", 202],
          ["1", 204],
        ] as const) {
          const threadId = await newThread(served);
          const run = await served.client.runs.create(threadId, "steps", {
            input: { plan: ["wait", "wait", "wait"] },
          });
          const { status } = await served.request(
            "POST",
            `/threads/${threadId}/runs/${run.run_id}/cancel?wait=${wait}`,
          );
          assert.equal(status, expected);
          await served.client.runs.join(threadId, run.run_id);
          assert.deepEqual(await statuses(served, threadId), ["interrupted"]);
          assert.equal((await served.client.threads.get(threadId)).status, "idle");
        }
      },
    },
    {
      of: "POST …/cancel: action=rollback",
      heddle: "removes the run and what it has written",
      dev: "leaves a running run as an error, with its checkpoints",
      why: "it is what rollback means on the platform",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        await client.runs.wait(threadId, "steps", { input: { plan: ["add"] } });
        const run = await client.runs.create(threadId, "steps", { input: { plan: ["add", "wait", "wait"] } });
        await client.runs.cancel(threadId, run.run_id, true, "rollback");
        await assert.rejects(client.runs.get(threadId, run.run_id), /HTTP 404/);
        assert.deepEqual(doneOf((await client.threads.getState(threadId)).values), ["add"]);
      },
    },
    {
      of: "POST /runs/cancel",
      heddle: "cancels several: by thread and ids, or by status",
      dev: "404",
      why: "the SDK has it",
      async check(served) {
        const { client, request } = served;
        const threadId = await newThread(served);
        const input = { plan: ["wait", "wait"] };
        const run = await client.runs.create(threadId, "steps", { input });
        const queued = await client.runs.create(threadId, "steps", { input, multitaskStrategy: "enqueue" });
        const { status } = await request("POST", "/runs/cancel", {
          thread_id: threadId,
          run_ids: [run.run_id, queued.run_id],
        });
        assert.ok([202, 204].includes(status), String(status));
        await client.runs.join(threadId, run.run_id);
        assert.deepEqual(await statuses(served, threadId), ["interrupted", "interrupted"]);
      },
    },
    {
      of: "multitask_strategy: reject",
      heddle: "is 422 while a run is unfinished",
      async check(served) {
        const threadId = await newThread(served);
        await served.client.runs.create(threadId, "steps", { input: { plan: ["wait"] } });
        await assert.rejects(
          served.client.runs.create(threadId, "steps", { input: { plan: ["add"] } }),
          /HTTP 422: Thread is already running a task/,
        );
      },
    },
    {
      of: "multitask_strategy: enqueue",
      heddle: "runs one after the other",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        await client.runs.create(threadId, "steps", { input: { plan: ["wait"] } });
        const values = await client.runs.wait(threadId, "steps", {
          input: { plan: ["add"] },
          multitaskStrategy: "enqueue",
        });
        assert.deepEqual(doneOf(values), ["wait", "add"]);
      },
    },
    {
      of: "multitask_strategy: interrupt",
      heddle: "ends the earlier run; what it has done stays",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        const first = await client.runs.create(threadId, "steps", {
          input: { plan: ["add", "wait", "wait"] },
        });
        for await (const { event, data } of client.runs.joinStream(threadId, first.run_id, {
          lastEventId: "-1",
        })) {
          if (event === "values" && doneOf(data)?.length === 1) break;
        }
        const values = await client.runs.wait(threadId, "steps", {
          input: { plan: ["add"] },
          multitaskStrategy: "interrupt",
        });
        assert.deepEqual(doneOf(values).slice(0, 1), ["add"]);
        assert.deepEqual(await statuses(served, threadId), ["success", "interrupted"]);
      },
    },
    {
      of: "multitask_strategy: rollback",
      heddle: "removes the earlier run with what it has done",
      dev: "a run that is running stays as an error",
      why: "it is what rollback means on the platform",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        const first = await client.runs.create(threadId, "steps", {
          input: { plan: ["add", "wait", "wait"] },
        });
        for await (const { event } of client.runs.joinStream(threadId, first.run_id, { lastEventId: "-1" }))
          if (event === "values") break;
        const values = await client.runs.wait(threadId, "steps", {
          input: { plan: ["write"] },
          multitaskStrategy: "rollback",
        });
        assert.deepEqual(doneOf(values), ["write"]);
        await assert.rejects(client.runs.get(threadId, first.run_id), /HTTP 404/);
      },
    },
    {
      of: "if_not_exists",
      heddle: "create makes the thread; without it a thread that is not there is 404",
      dev: "422 or 500",
      why: "that is what is wrong",
      async check({ client }) {
        const threadId = randomUUID();
        const input = { plan: ["add"] };
        await assert.rejects(client.runs.wait(threadId, "steps", { input }), /HTTP 404: Thread with ID/);
        await client.runs.wait(threadId, "steps", { input, ifNotExists: "create" });
        assert.equal((await client.threads.get(threadId)).metadata?.graph_id, "steps");
      },
    },
    {
      of: "assistant_id that is not there",
      heddle: "is 404 and says what is asked for",
      async check(served) {
        const threadId = await newThread(served);
        await assert.rejects(
          served.client.runs.create(threadId, "nobody", {}),
          /HTTP 404: No assistant found for "nobody"/,
        );
      },
    },
    {
      of: "after_seconds",
      heddle: "starts the run later; until then it can be cancelled",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        const run = await client.runs.create(threadId, "steps", {
          input: { plan: ["add"] },
          afterSeconds: 3_600,
        });
        assert.equal((await client.runs.get(threadId, run.run_id)).status, "pending");
        await client.runs.cancel(threadId, run.run_id, true);
        assert.deepEqual(await statuses(served, threadId), ["interrupted"]);
      },
    },
    {
      of: "command: resume",
      heddle: "answers an interrupt, or several by their ids",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        await client.runs.wait(threadId, "steps", { input: { plan: ["ask"] } });
        const [interrupt] = Object.values((await client.threads.get(threadId)).interrupts ?? {}).flat();
        const values = await client.runs.wait(threadId, "steps", {
          command: { resume: { [interrupt?.id ?? ""]: "by id" } },
        });
        assert.deepEqual(doneOf(values), ["asked: by id"]);
      },
    },
    {
      of: "command: resume with false, 0 or an empty text",
      heddle: "is an answer as any other",
      dev: "fails: `Received empty Command input`",
      why: "whoever is asked whether to go on may say no",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        await client.runs.wait(threadId, "steps", { input: { plan: ["ask"] } });
        const values = await client.runs.wait(threadId, "steps", { command: { resume: false } });
        assert.deepEqual(doneOf(values), ["asked: false"]);
      },
    },
    {
      of: "command: goto, update",
      heddle: "jump to a node, or send to it, and change the state on the way",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        await client.runs.wait(threadId, "steps", { input: { plan: ["add"] } });
        const values = await client.runs.wait(threadId, "steps", {
          command: { goto: "act", update: { plan: ["write"] } },
        });
        assert.deepEqual(doneOf(values), ["add", "write"]);
        const sent = await client.runs.wait(threadId, "steps", {
          command: { goto: { node: "act", input: { plan: ["sent"], done: [] } } },
        });
        assert.deepEqual(doneOf(sent), ["add", "write", "sent"]);
      },
    },
    {
      of: "checkpoint, checkpoint_id",
      heddle: "go on from an earlier state, as a branch of its own",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        await client.runs.wait(threadId, "steps", { input: { plan: ["one"] } });
        const { checkpoint } = await client.threads.getState(threadId);
        await client.runs.wait(threadId, "steps", { input: { plan: ["two"] } });
        const branch = { input: { plan: ["other"] } };
        const values = await client.runs.wait(threadId, "steps", { ...branch, checkpoint });
        assert.deepEqual(doneOf(values), ["one", "other"]);
        const again = await client.runs.wait(threadId, "steps", {
          ...branch,
          checkpointId: checkpoint.checkpoint_id ?? "",
        });
        assert.deepEqual(doneOf(again), ["one", "other"]);
      },
    },
    {
      of: "checkpoint, checkpoint_id of what is not there",
      heddle: "is 404 `Checkpoint … not found`",
      dev: "begins with an empty state",
      why: "what the thread has would be lost from its newest state without a word",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        await client.runs.wait(threadId, "steps", { input: { plan: ["one"] } });
        await assert.rejects(
          client.runs.wait(threadId, "steps", { checkpointId: randomUUID() }),
          /HTTP 404: Checkpoint .* not found/,
        );
      },
    },
    {
      of: "interrupt_before, interrupt_after",
      heddle: "stop at nodes, or at all of them with *",
      async check(served) {
        const { client } = served;
        for (const [field, expected] of [
          ["interruptBefore", []],
          ["interruptAfter", ["add"]],
        ] as const) {
          for (const nodes of [["act"], "*"] as const) {
            const threadId = await newThread(served);
            const own = { [field]: nodes };
            await client.runs.wait(threadId, "steps", { input: { plan: ["add", "add"] }, ...own });
            const state = await client.threads.getState(threadId);
            assert.deepEqual([doneOf(state.values), state.next], [expected, ["act"]]);
            assert.equal((await client.threads.get(threadId)).status, "interrupted");
            await client.runs.wait(threadId, "steps", { input: null });
            assert.deepEqual(doneOf((await client.threads.getState(threadId)).values), ["add", "add"]);
          }
        }
      },
    },
    {
      of: "config: recursion_limit, tags, configurable; context; metadata",
      heddle: "reach the graph",
      async check({ client }) {
        await assert.rejects(
          client.runs.wait(null, "steps", {
            input: { plan: ["a", "b", "c", "d"] },
            config: { recursion_limit: 2 },
          }),
          /GraphRecursionError/,
        );
        const values = await client.runs.wait(null, "made", {
          input: {},
          config: { configurable: { mine: 1 } },
          context: { who: "me" },
        });
        assert.partialDeepStrictEqual(values, { seen: { own: { mine: 1 }, context: { who: "me" } } });
      },
    },
    {
      of: "config: configurable of an earlier run",
      heddle: "holds for the thread's later runs, where these say nothing else",
      async check(served) {
        const threadId = await newThread(served);
        const run = async (configurable: Record<string, unknown>) => {
          const values = await served.client.runs.wait(threadId, "made", {
            input: {},
            config: { configurable },
          });
          return (values as { seen: { own: object } }).seen.own;
        };
        await run({ colour: "blue", shape: "round" });
        assert.partialDeepStrictEqual(await run({ shape: "square" }), { colour: "blue", shape: "square" });
      },
    },
    {
      of: "config.metadata in the graph",
      heddle: "has run_id, thread_id, graph_id, assistant_id, run_attempt, and the run's metadata",
      dev: "has langgraph_version, langgraph_plan, langgraph_host and langgraph_api_url as well",
      why: "it is stored with each checkpoint, and these say nothing of the run",
      async check(served) {
        const threadId = await newThread(served);
        const { metadata } = (await served.client.runs.wait(threadId, "talk", {
          input: { messages: [] },
          metadata: { mine: 1 },
        })) as { metadata: Record<string, unknown> };
        const [run] = await served.client.runs.list(threadId);
        assert.partialDeepStrictEqual(metadata, {
          run_id: run?.run_id,
          thread_id: threadId,
          graph_id: "talk",
          assistant_id: run?.assistant_id,
          run_attempt: 1,
          mine: 1,
        });
        const own = Object.keys(metadata).filter((name) => /^langgraph_(version|plan|host|api)/.test(name));
        assert.deepEqual(own, []);
      },
    },
    {
      of: "request headers",
      heddle: "x-… and the user agent are in configurable, credentials are not",
      async check({ request }) {
        const { json } = await request(
          "POST",
          "/runs/wait",
          { assistant_id: "made", input: {} },
          { "x-mine": "yes", "x-api-key": "secret" },
        );
        assert.equal(json.seen.own["x-mine"], "yes");
        assert.ok(!("x-api-key" in json.seen.own));
      },
    },
    {
      of: "durability, checkpoint_during, feedback_keys, langsmith_tracer, strict_resume",
      heddle: "are taken",
      dev: "are ignored",
      why: "newer SDKs send them",
      async check({ request }) {
        for (const own of [
          { durability: "exit" },
          { checkpoint_during: false },
          { feedback_keys: ["score"] },
          { langsmith_tracer: { project_name: "p" } },
        ]) {
          const { status, json } = await request("POST", "/runs/wait", {
            assistant_id: "steps",
            input: { plan: ["add"] },
            ...own,
          });
          assert.deepEqual([status, json], [200, { plan: [], done: ["add"] }], JSON.stringify(own));
        }
      },
    },
    {
      of: "on_disconnect: cancel",
      heddle: "ends the run when the client of its stream goes",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        const gone = new AbortController();
        const stream = client.runs.stream(threadId, "steps", {
          input: { plan: Array.from({ length: 20 }, () => "wait") },
          onDisconnect: "cancel",
          signal: gone.signal,
        });
        try {
          for await (const { event } of stream) if (event === "values") gone.abort();
        } catch (error) {
          if (!gone.signal.aborted) throw error;
        }
        const [run] = await client.runs.list(threadId);
        await client.runs.join(threadId, run?.run_id ?? "");
        assert.deepEqual(await statuses(served, threadId), ["interrupted"]);
      },
    },
    {
      of: "on_disconnect: cancel of a stateless run",
      heddle: "ends it as well",
      dev: "lets it go on",
      why: "nobody waits for it any more",
      async check(served) {
        const { client } = served;
        const metadata = { mark: randomUUID() };
        const gone = new AbortController();
        const stream = client.runs.stream(null as unknown as string, "steps", {
          input: { plan: Array.from({ length: 20 }, () => "wait") },
          onDisconnect: "cancel",
          // The SDK's types have no such thing without a thread, and it is sent all the same.
          onCompletion: "keep" as "complete",
          metadata,
          signal: gone.signal,
        });
        try {
          for await (const { event } of stream) if (event === "values") gone.abort();
        } catch (error) {
          if (!gone.signal.aborted) throw error;
        }
        const [thread] = await client.threads.search({ metadata });
        const threadId = thread?.thread_id ?? "";
        const [run] = await client.runs.list(threadId);
        await client.runs.join(threadId, run?.run_id ?? "");
        assert.deepEqual(await statuses(served, threadId), ["interrupted"]);
      },
    },
    {
      of: "Idempotency-Key",
      heddle: "a request sent again with its key gets the run that it has made",
      dev: "makes another",
      why: "a client may send again what it has had no answer to",
      async check(served) {
        const threadId = await newThread(served);
        const send = () =>
          served.request(
            "POST",
            `/threads/${threadId}/runs`,
            { assistant_id: "steps", input: { plan: ["add"] } },
            { "idempotency-key": "once" },
          );
        assert.equal((await send()).json.run_id, (await send()).json.run_id);
        assert.equal((await served.client.runs.list(threadId)).length, 1);
      },
    },
    {
      of: "POST …/cancel of a run that has ended, of one that is not there",
      heddle: "changes nothing; 404 `Run not found`",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        await client.runs.wait(threadId, "steps", { input: { plan: ["add"] } });
        const [run] = await client.runs.list(threadId);
        await client.runs.cancel(threadId, run?.run_id ?? "", true);
        assert.deepEqual(await statuses(served, threadId), ["success"]);
        await assert.rejects(client.runs.cancel(threadId, randomUUID()), /HTTP 404: Run not found/);
      },
    },
    {
      of: "run.cancel_reason",
      heddle: "says why a run was cancelled",
      dev: "is not there",
      why: "newer SDKs have it",
      async check(served) {
        const { client, request } = served;
        const threadId = await newThread(served);
        const run = await client.runs.create(threadId, "steps", {
          input: { plan: ["add"] },
          afterSeconds: 3_600,
        });
        assert.equal((await client.threads.get(threadId)).status, "busy");
        await client.runs.cancel(threadId, run.run_id, true);
        const { json } = await request("GET", `/threads/${threadId}/runs/${run.run_id}`);
        assert.equal(json.cancel_reason, "requested");
        assert.equal((await client.threads.get(threadId)).status, "idle");
      },
    },
    {
      of: "GET /threads/:id/runs: select",
      heddle: "gives the fields that are asked for",
      dev: "is ignored",
      why: "the SDK has it",
      async check(served) {
        const threadId = await newThread(served);
        await served.client.runs.wait(threadId, "steps", { input: { plan: ["add"] } });
        const runs: object[] = await served.client.runs.list(threadId, { select: ["status"] });
        assert.deepEqual(runs, [{ status: "success" }]);
      },
    },
    {
      of: "join and deletion of a run that is not there",
      heddle: "are 404 `Run not found`",
      async check(served) {
        const threadId = await newThread(served);
        const { runs } = served.client;
        await assert.rejects(runs.join(threadId, randomUUID()), /HTTP 404: Run not found/);
        await assert.rejects(runs.delete(threadId, randomUUID()), /HTTP 404: Run not found/);
      },
    },
    {
      of: "a run without input",
      heddle: "goes on from where the thread is",
      async check(served) {
        const { client } = served;
        const threadId = await newThread(served);
        const before = { input: { plan: ["add"] }, interruptBefore: ["act"] };
        assert.deepEqual(doneOf(await client.runs.wait(threadId, "steps", before)), []);
        assert.deepEqual(doneOf(await client.runs.wait(threadId, "steps", {})), ["add"]);
      },
    },
    {
      of: "a run that is interrupted by its graph",
      heddle: "is a success; the thread is interrupted",
      async check(served) {
        const threadId = await newThread(served);
        await served.client.runs.wait(threadId, "steps", { input: { plan: ["ask"] } });
        assert.deepEqual(await statuses(served, threadId), ["success"]);
        assert.equal((await served.client.threads.get(threadId)).status, "interrupted");
      },
    },
    {
      of: "POST /runs/batch: []",
      heddle: "is 422",
      dev: "400",
      why: "as for every other body",
      async check({ request }) {
        assert.equal((await request("POST", "/runs/batch", [])).status, 422);
      },
    },
    {
      of: "strict_resume",
      heddle: "lets a run fail whose answer nobody waits for: UnknownInterruptError",
      dev: "is ignored: the graph runs",
      why: "newer SDKs send it",
      async check(served) {
        const threadId = await newThread(served);
        await served.client.runs.wait(threadId, "steps", { input: { plan: ["add"] } });
        const { json } = await served.request("POST", `/threads/${threadId}/runs/wait`, {
          assistant_id: "steps",
          command: { resume: { ["0".repeat(32)]: "late" } },
          strict_resume: true,
        });
        assert.equal(json.__error__.error, "UnknownInterruptError");
      },
    },
    {
      of: "durability: exit, async",
      heddle: "are taken; each state is stored before the next step nevertheless",
      dev: "are ignored",
      why: "after a crash a run goes on from its last step",
      async check({ client, request }) {
        const { thread_id } = await client.threads.create();
        const body = { assistant_id: "steps", input: { plan: ["add", "add"] }, durability: "exit" };
        await request("POST", `/threads/${thread_id}/runs/wait`, body);
        const history = await client.threads.getHistory<{ done: string[] }>(thread_id);
        assert.deepEqual(
          history.map(({ values }) => values.done),
          [["add", "add"], ["add"], [], []],
        );
      },
    },
    {
      of: "join: cancel_on_disconnect",
      heddle: "ends the run when the client that waits goes",
      dev: "is heeded by streams only",
      why: "the SDK sends it",
      async check(served) {
        const { client, url } = served;
        const threadId = await newThread(served);
        const plan = Array.from({ length: 20 }, () => "wait");
        const run = await client.runs.create(threadId, "steps", { input: { plan } });
        const gone = new AbortController();
        const place = `${url}/threads/${threadId}/runs/${run.run_id}/join?cancel_on_disconnect=1`;
        const waiting = await fetch(place, { signal: gone.signal });
        gone.abort();
        await waiting.text().catch(() => undefined);
        await client.runs.join(threadId, run.run_id);
        assert.deepEqual(await statuses(served, threadId), ["interrupted"]);
      },
    },
  ],
};
