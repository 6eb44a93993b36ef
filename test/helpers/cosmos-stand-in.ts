// The part of Azure Cosmos DB's REST API that the example store uses, in memory: signed requests, documents by partition,
// etags, transactional batches, queries in pages.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

interface Document {
  readonly id: string;
  readonly _etag: string;
  readonly [field: string]: unknown;
}
type Partition = Map<string, Document>;
interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}
interface Operation {
  readonly operationType: "Create" | "Replace";
  readonly id?: string;
  readonly ifMatch?: string;
  readonly resourceBody: Record<string, unknown> & { readonly id: string };
}

const PAGE = 100;

export async function startCosmos() {
  const key = Buffer.from(randomUUID()).toString("base64");
  const collection = "dbs/heddle/colls/messages";
  const partitions = new Map<string, Partition>();

  const isSigned = ({ method = "", headers }: IncomingMessage, link: string) => {
    const text = `${method.toLowerCase()}\ndocs\n${link}\n${String(headers["x-ms-date"]).toLowerCase()}\n\n`;
    const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
    const expected = Buffer.from(encodeURIComponent(`type=master&ver=1.0&sig=${signature}`));
    const found = Buffer.from(headers.authorization ?? "");
    return expected.length === found.length && timingSafeEqual(expected, found);
  };
  const query = (partition: Partition, body: Query, continuation: string | undefined): Answer => {
    const value = body.parameters[0]?.value;
    let found = [...partition.values()];
    if (body.query.includes("ARRAY_CONTAINS")) {
      found = found.filter(({ id }) => (value as string[]).includes(id));
    } else found = found.filter(({ threadId }) => threadId === value);
    if (body.query.includes("IS_DEFINED(c.seq)")) {
      found = found
        .filter(({ seq }) => seq !== undefined)
        .sort((one, other) => Number(one.seq) - Number(other.seq));
    }
    const start = Number(continuation ?? 0);
    const more: Record<string, string> =
      start + PAGE < found.length ? { "x-ms-continuation": String(start + PAGE) } : {};
    return { status: 200, body: { Documents: found.slice(start, start + PAGE) }, headers: more };
  };
  const runBatch = (partition: Partition, operations: readonly Operation[]): Answer => {
    if (operations.length > 100) return { status: 400, body: { message: "Too many operations." } };
    const draft = new Map(partition);
    const codes = operations.map(({ operationType, id, ifMatch, resourceBody }) => {
      const there = draft.get(id ?? resourceBody.id);
      if (operationType === "Create" && there) return 409;
      if (operationType === "Replace" && !there) return 404;
      if (ifMatch !== undefined && ifMatch !== there?._etag) return 412;
      draft.set(resourceBody.id, { ...resourceBody, _etag: randomUUID() });
      return 201;
    });
    const hasFailed = codes.some((code) => code >= 300);
    if (!hasFailed) for (const [id, document] of draft) partition.set(id, document);
    const shown = codes.map((code) => ({ statusCode: hasFailed && code < 300 ? 424 : code }));
    return { status: hasFailed ? 207 : 200, body: shown };
  };
  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const [, id] = new RegExp(`^/${collection}/docs(?:/(.+))?$`).exec(request.url ?? "") ?? [null];
    if (id === null) return { status: 404, body: { message: request.url } };
    if (!isSigned(request, id === undefined ? collection : `${collection}/docs/${id}`))
      return { status: 401 };
    const { headers, method } = request;
    const name = String(headers["x-ms-documentdb-partitionkey"]);
    const partition = partitions.get(name) ?? new Map<string, Document>();
    partitions.set(name, partition);
    if (method === "POST") {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
      if (headers["x-ms-documentdb-isquery"]) {
        return query(partition, body, headers["x-ms-continuation"] as string | undefined);
      }
      return runBatch(partition, body);
    }
    const document = partition.get(id ?? "");
    if (!document) return { status: 404, body: { code: "NotFound" } };
    if (method === "DELETE") partition.delete(document.id);
    return method === "DELETE" ? { status: 204 } : { status: 200, body: document };
  };
  const server = createServer((request, response) => {
    void answer(request).then(({ status, body, headers = {} }) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    options: { endpoint: `http://127.0.0.1:${port}`, key, database: "heddle", container: "messages" },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Query {
  readonly query: string;
  readonly parameters: readonly { readonly value: unknown }[];
}
