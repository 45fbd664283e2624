import { once } from "node:events";
import { access } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { call, customCall, type Step } from "./mock-model.ts";
import { ONE_PIXEL_PNG } from "./one-pixel.ts";
import { serverKind, Workspace } from "./workspace.ts";

const CTRL_C = "\u0003";
/** A model that the client knows and gives its tools as functions of a script. */
const CODE_MODE_MODEL = "gpt-6.1-sol";
const command = (cmd: string) => call("exec_command", { cmd, yield_time_ms: 30_000 });
const patch = (...lines: string[]) =>
  command(["apply_patch <<'PATCH'", "*** Begin Patch", ...lines, "*** End Patch", "PATCH"].join("\n"));

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The sandbox of each start, and whether each process was denied something. */
function seen({ proxy }: Workspace) {
  return {
    types: proxy.exchanges("process/start").map(([, result]) => result["sandboxType"]),
    denied: proxy.messages
      .filter(({ method }) => method === "process/exited")
      .map(({ params }) => params?.["sandboxDenied"]),
  };
}

/** Methods of the client that came with a sandbox, and that the server has served. */
function sandboxedFileCalls({ proxy }: Workspace): Set<string> {
  const methods = new Set(
    proxy.messages.flatMap(({ method }) => (method?.startsWith("fs/") ? [method] : [])),
  );
  return new Set(
    [...methods].filter((method) =>
      proxy.exchanges(method).some(([{ sandbox }]) => sandbox !== null && sandbox !== undefined),
    ),
  );
}

/** Why the server refused calls. The client only says that it failed. */
const refusals = ({ proxy }: Workspace) =>
  proxy.messages.flatMap((message) => ("error" in message ? [message["error"]] : []));

describe.concurrent(`codex exec in a sandbox of ${serverKind === "codex" ? "its own" : "this"} server`, () => {
  it("writes in its workspace and nowhere else", async () => {
    await using workspace = await Workspace.open();
    const outside = join(dirname(workspace.dir), "outside");
    const { outputs } = await workspace.run(
      [command("echo inside > here && cat here; exit 3"), command(`echo outside > ${outside}`)],
      { sandbox: "workspace-write" },
    );
    expect(seen(workspace)).toEqual({ types: ["linuxSeccomp", "linuxSeccomp"], denied: [false, true] });
    expect(outputs[0]).toMatch(/Process exited with code 3\n[^]*inside\n$/);
    expect(outputs[1]).toMatch(/Process exited with code 1\n[^]*Read-only file system\n$/);
    expect(await workspace.read("here")).toBe("inside\n");
    expect(await exists(outside)).toBe(false);
  });

  it("keeps .git of its workspace as it is", async () => {
    await using workspace = await Workspace.open();
    await workspace.write(".git/config", "");
    const { outputs } = await workspace.run([command("touch .git/hook; mkdir .codex; ls -A")], {
      sandbox: "workspace-write",
    });
    expect(outputs[0]).toContain("cannot touch '.git/hook'");
    expect(await exists(workspace.path(".git/hook"))).toBe(false);
    expect(await exists(workspace.path(".codex"))).toBe(false);
  });

  it("reads, but does not write, under read-only", async () => {
    await using workspace = await Workspace.open();
    await workspace.write("there", "read me\n");
    const { outputs } = await workspace.run([command("cat there"), command("echo x > there")], {
      sandbox: "read-only",
    });
    expect(seen(workspace)).toEqual({ types: ["linuxSeccomp", "linuxSeccomp"], denied: [false, true] });
    expect(outputs[0]).toMatch(/Process exited with code 0\n[^]*read me\n$/);
    expect(outputs[1]).toContain("Read-only file system");
    expect(await workspace.read("there")).toBe("read me\n");
  });

  it("adds, edits and deletes files of its workspace with a patch", async () => {
    await using workspace = await Workspace.open();
    await workspace.write("edit.txt", "one\ntwo\n");
    await workspace.write("gone.txt", "bye\n");
    const edit = ["*** Update File: edit.txt", "@@", " one", "-two", "+TWO"];
    const { outputs } = await workspace.run(
      [patch("*** Add File: new/deep/added.txt", "+added", ...edit, "*** Delete File: gone.txt")],
      { sandbox: "workspace-write" },
    );
    expect(outputs[0], JSON.stringify(refusals(workspace))).toContain("Exit code: 0\n");
    expect(await workspace.read("new/deep/added.txt")).toBe("added\n");
    expect(await workspace.read("edit.txt")).toBe("one\nTWO\n");
    expect(await exists(workspace.path("gone.txt"))).toBe(false);
    // Where everything can be read, the client reads outside of the sandbox.
    expect(sandboxedFileCalls(workspace)).toEqual(
      new Set(["fs/writeFile", "fs/createDirectory", "fs/remove"]),
    );
  });

  it("patches and runs from a script of the model", async () => {
    await using workspace = await Workspace.open();
    const text = "*** Begin Patch\n*** Add File: dir/said.txt\n+from a script\n*** End Patch\n";
    const script = [
      `await tools.apply_patch(${JSON.stringify(text)});`,
      'const { output, exit_code } = await tools.exec_command({ cmd: "cat dir/said.txt; exit 5" });',
      "text(`[${exit_code}] ${output}`);",
    ].join("\n");
    const { outputs } = await workspace.run([customCall("exec", script)], {
      model: CODE_MODE_MODEL,
      sandbox: "workspace-write",
    });
    expect(outputs[0]).toContain("[5] from a script\n");
    expect(seen(workspace).types).toEqual(["linuxSeccomp"]);
  });

  it("views an image under read-only", async () => {
    await using workspace = await Workspace.open();
    await workspace.write("dot.png", Buffer.from(ONE_PIXEL_PNG, "base64"));
    const { model } = await workspace.run([call("view_image", { path: "dot.png" })], {
      sandbox: "read-only",
    });
    expect(model.outputs.map(({ imageUrls }) => imageUrls)).toEqual([
      [`data:image/png;base64,${ONE_PIXEL_PNG}`],
    ]);
    expect(sandboxedFileCalls(workspace)).toEqual(new Set());
  });

  // The real server's sandbox has no controlling terminal: Ctrl-C kills it, and no trap runs.
  it.skipIf(serverKind === "codex")("types into a terminal and interrupts it", async () => {
    await using workspace = await Workspace.open();
    const { proxy } = workspace;
    const cmd =
      'stty size; read -r name; echo "hello $name"; trap "echo interrupted; exit 42" INT; bash -c "echo waiting; exec sleep 1000"';
    const type = (prompt: string, chars: string, wait: number): Step => {
      return async ([first]) => {
        await proxy.until(() => proxy.output.includes(prompt), `${prompt} in the output`);
        const id = Number(/Process running with session ID (\d+)/.exec(first?.text ?? "")?.[1]);
        return call("write_stdin", { session_id: id, chars, yield_time_ms: wait });
      };
    };
    const { outputs } = await workspace.run(
      [
        call("exec_command", { cmd, tty: true, yield_time_ms: 250 }),
        type("24 80", "Ada\n", 250),
        type("waiting", CTRL_C, 30_000),
      ],
      { sandbox: "workspace-write" },
    );
    expect(outputs.at(-1)).toContain("Process exited with code 42\n");
    expect(proxy.output).toBe("24 80\r\nAda\r\nhello Ada\r\nwaiting\r\n^Cinterrupted\r\n");
  });

  describe("on the network", () => {
    it("reaches nothing by default, and everything with network access", async () => {
      await using site = await openSite();
      const visit = command(`bash -c 'exec 3<> /dev/tcp/127.0.0.1/${site.port} && ${GET_ROOT}'`);
      for (const network of [false, true]) {
        await using workspace = await Workspace.open();
        const { outputs } = await workspace.run([visit], {
          sandbox: "workspace-write",
          config: `[sandbox_workspace_write]\nnetwork_access = ${network}`,
        });
        expect(outputs[0]).toContain(network ? "reached" : "Operation not permitted");
        expect(seen(workspace)).toEqual({ types: ["linuxSeccomp"], denied: [!network] });
      }
      expect(site.visits).toBe(1);
    });

    it("reaches everything with a command for which it has asked to leave the sandbox", async () => {
      await using site = await openSite();
      const asking = { sandbox_permissions: "require_escalated", justification: "to visit a site" };
      const cmd = `exec 3<> /dev/tcp/127.0.0.1/${site.port} && ${GET_ROOT}`;
      const visit = call("exec_command", { cmd, yield_time_ms: 30_000, ...asking });
      for (const review of ["deny", "allow"] as const) {
        await using workspace = await Workspace.open();
        const { outputs, model } = await workspace.run([visit, command("touch here")], { review });
        expect(model.reviews).toHaveLength(1);
        expect(outputs[0]).toContain(review === "allow" ? "reached" : "This action was rejected");
        // What it has not asked for stays in the sandbox.
        const types = review === "allow" ? ["none", "linuxSeccomp"] : ["linuxSeccomp"];
        expect(seen(workspace).types).toEqual(types);
      }
      expect(site.visits).toBe(1);
    });

    it("reaches by the proxy what its configuration allows, and nothing else", async () => {
      await using site = await openSite();
      await using workspace = await Workspace.open();
      const byProxy = (url: string) =>
        `exec 3<> /dev/tcp/127.0.0.1/\${HTTP_PROXY##*:}; printf "GET ${url} HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3`;
      const { outputs } = await workspace.run(
        [
          command(byProxy(`http://127.0.0.1:${site.port}/`)),
          command(byProxy("http://elsewhere.test/")),
          command(`exec 3<> /dev/tcp/127.0.0.1/${site.port}`),
        ],
        {
          sandbox: "workspace-write",
          config: [
            'network_proxy = { enabled = true, domains = { "127.0.0.1" = "allow" } }',
            "[sandbox_workspace_write]",
            "network_access = true",
          ].join("\n"),
        },
      );
      expect(outputs[0]).toContain("reached");
      expect(outputs[1]).toContain('"reason":"not_allowed"');
      expect(outputs[2]).toContain("Connection refused");
      expect(site.visits).toBe(1);
      const decisions = workspace.proxy.messages.filter(({ method }) => method === "network/policyDecision");
      expect(decisions.map(({ params }) => [params?.["host"], params?.["decision"]])).toEqual([
        ["127.0.0.1", "allow"],
        ["elsewhere.test", "deny"],
      ]);
    });
  });

  it("is not asked to patch what it may not write", async () => {
    await using workspace = await Workspace.open();
    const { outputs } = await workspace.run([patch("*** Add File: ../out.txt", "+x")], {
      sandbox: "workspace-write",
    });
    expect(outputs[0]).toContain("writing outside of the project");
    expect(workspace.proxy.requests("fs/writeFile")).toEqual([]);
  });
});

const GET_ROOT = 'printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3';

/** A web site on this machine. */
async function openSite(): Promise<AsyncDisposable & { readonly port: number; readonly visits: number }> {
  let visits = 0;
  const server = createServer((_, response) => {
    visits += 1;
    response.end("reached");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get visits() {
      return visits;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
