import { expect, it } from "vitest";
import { NetworkRules } from "../../capabilities/network-proxy/network-rules.ts";
import { OwnListeners } from "../../capabilities/network-proxy/own-listeners.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import { PolicyClient } from "./policy-client.ts";
import { ProcessNetworks } from "./process-network.ts";

const LAUNCH = {
  rules: new NetworkRules({ mode: "full", allowLocal: true, allow: ["*"], deny: [], review: [] }),
  allowLocal: true,
  socks: true,
  askTimeoutMs: undefined,
  hidden: undefined,
};

/** The ports on which a process's proxy listens on this machine while it runs, and afterwards; and its variable. */
async function portsOf(network: Confinement["network"] | "of the machine") {
  const own = new OwnListeners();
  const request: StartRequest = {
    argv: ["true"],
    cwd: "/",
    env: new Map(),
    stdin: "none",
    ...(network === "of the machine" ? {} : { confinement: { network } as Confinement }),
  };
  const client = new PolicyClient(() => undefined);
  const opened = await new ProcessNetworks(own, {}).open("p", request, { launch: LAUNCH, client });
  const during = own.ports;
  opened.close();
  return { during, after: own.ports, variable: opened.request.env.get("HTTP_PROXY") };
}

it.each(["of the machine", "enabled"] as const)(
  "with the network %s, the proxy listens on loopback",
  async (network) => {
    const { during, after, variable } = await portsOf(network);
    expect(during).toHaveLength(2);
    expect(variable).toBe(`http://127.0.0.1:${during[0]}`);
    expect(after).toEqual([]);
  },
);

it("without a network, nothing listens that others could reach and the process could not", async () => {
  const { during, variable } = await portsOf("restricted");
  expect(during).toEqual([]);
  expect(variable).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});
