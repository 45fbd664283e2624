import { expectError, start, type VerifyContext, verifies } from "./verifies.ts";

const families = {
  exec: {
    "process/start": start("p", ["true"]),
    "process/read": { processId: "p" },
    "process/write": { processId: "p", chunk: "", writeId: "1" },
    "process/signal": { processId: "p", signal: "interrupt" },
    "process/terminate": { processId: "p" },
  },
  filesystem: {
    "fs/readFile": { path: "file:///x" },
    "fs/getMetadata": { path: "file:///x" },
    "fs/close": { handleId: "h" },
  },
  http: { "http/request": { method: "GET", url: "http://127.0.0.1:1/", requestId: "1" } },
  "environment info": { "environment/info": null },
  "environment status": { "environment/status": null },
  "environment config": {
    "environmentConfig/read": { cwd: "file:///", configPaths: [["x"]], requirementsPaths: [] },
  },
  "capability discovery": {
    "capabilityRoots/discoverV1": { roots: [] },
    "capabilities/discoverV2": { cwd: "file:///" },
  },
} satisfies Record<string, Record<string, unknown>>;

function refusesBeforeInitialize(family: keyof typeof families) {
  return async ({ connect }: VerifyContext) => {
    const connection = await connect();
    for (const [method, params] of Object.entries(families[family])) {
      const message = `client must call initialize before using ${family} methods`;
      await expectError(connection.request(method, params), -32600, message);
    }
  };
}

function refusesBeforeInitialized(family: keyof typeof families) {
  return async ({ connect }: VerifyContext) => {
    const connection = await connect();
    await connection.request("initialize", { clientName: "conformance" });
    for (const [method, params] of Object.entries(families[family])) {
      const message = `client must send initialized before using ${family} methods`;
      await expectError(connection.request(method, params), -32600, message);
    }
  };
}

verifies("gate.exec:before-initialize", refusesBeforeInitialize("exec"));
verifies("gate.exec:before-initialized", refusesBeforeInitialized("exec"));
verifies("gate.filesystem:before-initialize", refusesBeforeInitialize("filesystem"));
verifies("gate.filesystem:before-initialized", refusesBeforeInitialized("filesystem"));
verifies("gate.http:before-initialize", refusesBeforeInitialize("http"));
verifies("gate.http:before-initialized", refusesBeforeInitialized("http"));
verifies("gate.environment-info:before-initialize", refusesBeforeInitialize("environment info"));
verifies("gate.environment-info:before-initialized", refusesBeforeInitialized("environment info"));
verifies("gate.environment-status:before-initialize", refusesBeforeInitialize("environment status"));
verifies("gate.environment-status:before-initialized", refusesBeforeInitialized("environment status"));
verifies("gate.environment-config:before-initialize", refusesBeforeInitialize("environment config"));
verifies("gate.environment-config:before-initialized", refusesBeforeInitialized("environment config"));
verifies("gate.discovery:before-initialize", refusesBeforeInitialize("capability discovery"));
verifies("gate.discovery:before-initialized", refusesBeforeInitialized("capability discovery"));
