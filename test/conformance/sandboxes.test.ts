// Runs the one suite on every provider. Where bubblewrap cannot work, its suite is reported as skipped, and why.
import { describe, it } from "vitest";
import { whyUnavailable } from "../helpers/sandbox-thread.ts";
import { describeSandbox } from "./sandbox-suite.ts";

const reason = await whyUnavailable("bubblewrap");
if (reason === undefined) {
  describeSandbox("bubblewrap", { isIsolated: true, hasProcesses: true });
} else {
  describe("the bubblewrap sandbox", () => {
    it.skip(`is not tested: ${reason}`, () => {});
  });
}
describeSandbox("virtual", { isIsolated: true, hasProcesses: false });
describeSandbox("local", { isIsolated: false, hasProcesses: true });
