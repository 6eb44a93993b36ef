// Where a webhook may go: to an http(s) URL outside, to what WEBHOOK_ALLOW names inside, or to a path on this server.
// A name is looked up when the webhook is delivered (post.ts); here is refused what no lookup could make right.
import { BlockList, isIP, isIPv6 } from "node:net";
import { AppError } from "../errors.ts";

/** What WEBHOOK_ALLOW names: hosts and addresses that are reached although they are inside. */
export interface Allowed {
  readonly hosts: ReadonlySet<string>;
  readonly addresses: BlockList;
}

export type Target = { readonly path: string } | { readonly url: URL };

const MAX_LENGTH = 2048;

/** Names, addresses, and networks as `10.0.0.0/8`. */
export function toAllowed(entries: readonly string[]): Allowed {
  const hosts = new Set<string>();
  const addresses = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    if (isIP(address) === 0) hosts.add(toName(entry));
    else if (prefix === undefined) addresses.addAddress(address, familyOf(address));
    else addresses.addSubnet(address, Number(prefix), familyOf(address));
  }
  return { hosts, addresses };
}

/** For runs that are asked for. @throws AppError invalid_request when the receiver of one can never be told of its end */
export const createTargetCheck =
  (allowed: Allowed) =>
  ({ webhook }: { readonly webhook?: string | undefined }): void => {
    if (webhook !== undefined) toTarget(webhook, allowed);
  };

/** @throws AppError invalid_request */
export function toTarget(text: string, allowed: Allowed): Target {
  if (text.length > MAX_LENGTH) throw refuse(`is longer than ${MAX_LENGTH} characters`);
  if (text.startsWith("/")) return { path: toPath(text) };
  if (!URL.canParse(text)) throw refuse("is neither an absolute URL nor a path");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw refuse("must be http or https");
  if (url.username !== "" || url.password !== "") throw refuse("must have no credentials in it");
  const host = hostOf(url);
  if (!isAllowed(allowed, host, [host]) && (isLocalName(host) || isInside(host))) {
    throw refuse("is an address of this machine or its network; WEBHOOK_ALLOW can allow it");
  }
  return { url };
}

/** The host as a name or an address without brackets. */
export const hostOf = (url: URL) => toName(url.hostname.replace(/^\[(.*)\]$/, "$1"));

/** Whether all of the host's addresses may be reached, whatever they are. */
export const isAllowed = (
  { hosts, addresses }: Allowed,
  host: string,
  resolved: readonly string[],
): boolean =>
  hosts.has(host) ||
  (resolved.length > 0 &&
    resolved.every((address) => isIP(address) !== 0 && addresses.check(address, familyOf(address))));

const refuse = (why: string) =>
  new AppError("invalid_request", `body.webhook: ${why}`, { details: [`body.webhook: ${why}`] });

const toName = (host: string) => host.toLowerCase().replace(/\.$/, "");
const familyOf = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");

/** A path that another server could be meant by (`//host`, `/\host`) is none. */
function toPath(text: string): string {
  const here = "http://here.invalid";
  if (!URL.canParse(text, here)) throw refuse("is not a path");
  const url = new URL(text, here);
  if (url.origin !== here) throw refuse("is not a path on this server");
  return url.pathname + url.search;
}

const isLocalName = (host: string) => host === "localhost" || host.endsWith(".localhost");

// Only what everybody has inside: the agent of post.ts knows the other reserved networks.
const INSIDE = new BlockList();
for (const [address, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["::", 128],
  ["::1", 128],
  ["fc00::", 7],
  ["fe80::", 10],
] as const) {
  INSIDE.addSubnet(address, prefix, familyOf(address));
}

const isInside = (host: string) => isIP(host) !== 0 && INSIDE.check(host, familyOf(host));
