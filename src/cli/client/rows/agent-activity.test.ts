import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { AgentActivity } from "./agent-activity.ts";

let shown: string;
let activity: AgentActivity;

beforeEach(() => {
  shown = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    shown += String(text);
    return true;
  });
  vi.stubEnv("NO_COLOR", "1");
  vi.stubEnv("FORCE_COLOR", undefined);
  activity = new AgentActivity();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const call = (name: string, args: string): void =>
  activity.event({ type: "call", callId: "c", name, arguments: args });
const result = (name: string, text: string, isError = false): void =>
  activity.event({ type: "result", callId: "c", name, text, isError });
const output = (text: string, callId = "c"): void =>
  activity.toolEvent({ type: "output_delta", callId, stream: "stdout", bytes: Buffer.from(text) });

it("a command is shown in full, with the beginning of its output and an unusual end", () => {
  call("exec_command", JSON.stringify({ cmd: "make all\nmake test" }));
  output("one\ntw");
  output("o\n");
  output("Password: ");
  result("exec_command", "Still running, session_id 1: make all\nWall time: 1 s");
  call("write_stdin", JSON.stringify({ session_id: 1, chars: "secret\n" }));
  output(Array.from({ length: 25 }, (_, line) => `${line}\n`).join(""));
  result("write_stdin", "Exit code: 0\nWall time: 1 s");
  expect(shown).toBe(
    [
      "$ make all\n  make test\n  one\n  two\n  Password: ",
      "  Still running, session_id 1: make all",
      "write_stdin 1 secret\\n",
      ...Array.from({ length: 20 }, (_, line) => `  ${line}`),
      "  … 5 more lines\n",
    ].join("\n"),
  );
});

it("output that comes while the agent does something else waits for the next command", () => {
  output("from before\n");
  call("list_dir", "{}");
  result("list_dir", "a.txt");
  call("exec_command", JSON.stringify({ cmd: "true" }));
  result("exec_command", "Exit code: 0");
  expect(shown).toBe("list_dir\n$ true\n  from before\n");
});

it("of a line that is drawn again and again, the last state is shown, without escape sequences", () => {
  call("exec_command", JSON.stringify({ cmd: "x" }));
  output("10%\r50%\r\u001b[32m100%\u001b[m\r\n\u202ehidden\tx\r\n\r\n");
  expect(shown).toBe("$ x\n  100%\n  \\u202ehidden    x\n  \n");
});

it("a failed call is shown with its reason", () => {
  call("read_file", JSON.stringify({ path: "none.txt", limit: 5 }));
  result("read_file", "read none.txt: no such file\nmore", true);
  expect(shown).toBe("read_file none.txt 5\n  read none.txt: no such file\n");
});

it.each([
  ["not JSON", "{{{", "tool {{{\n"],
  ["no object", "5", "tool 5\n"],
  ["escape sequences", '{"a":"\u001b[2J"}'.replace("\u001b", "\\u001b"), "tool \\x1b[2J\n"],
])("arguments of a model may be anything: %s", (_name, args, expected) => {
  call("tool", args);
  expect(shown).toBe(expected);
});

it("arguments that are nested as deep as an answer allows are shown cut off", () => {
  call("tool", `{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`);
  expect(shown).toHaveLength(201);
  expect(shown).toMatch(/^tool \{"a":\[+…\n$/);
});

it("what the model says is shown as it is, but for what a terminal would act on", () => {
  activity.event({ type: "text", text: "Done ✅ ⚠️ 👩‍💻\n\tsee \u001b]0;x\u0007\n" });
  expect(shown).toBe("Done ✅ ⚠️ 👩‍💻\n\tsee \\x1b]0;x\\x07\n");
});
