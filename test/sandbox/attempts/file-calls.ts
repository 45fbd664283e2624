import { type Attempt, attemptsOf, call, outside, sh } from "../attempt.ts";

const ESCAPED = { dataBase64: Buffer.from("escaped\n").toString("base64") };
const WALK = {
  options: {
    maxDepth: 6,
    maxDirectories: 100,
    maxEntries: 1000,
    followDirectorySymlinks: true,
    pruneHiddenDirectories: false,
  },
};
/** Shows that processes of the same sandbox run, and makes what the call needs. */
const link = (target: string) => sh(`ln -s ${target} $WORK/l`);
const begin = sh("true");

export const fileCallAttempts: readonly Attempt[] = attemptsOf("file calls", [
  ["reads a denied file by a call", "secret", [begin, call("fs/readFile", { path: "$SECRET_FILE" })]],
  [
    "reads a file in a denied directory by a call",
    "secret",
    [begin, call("fs/readFile", { path: "$SECRETS/file" })],
  ],
  [
    "reads a file that a pattern denies by a call",
    "secret",
    [begin, call("fs/readFile", { path: "$WORK/deep/er/token.hidden" })],
  ],
  [
    "has a call follow a link to a denied file",
    "secret",
    [link("$SECRETS/file"), call("fs/readFile", { path: "$WORK/l" })],
  ],
  [
    "has a call follow a link to a denied directory",
    "secret",
    [link("$SECRETS"), call("fs/readFile", { path: "$WORK/l/file" })],
  ],
  [
    "has a call follow a link through /proc",
    "secret",
    [link("/proc/self/root"), call("fs/readFile", { path: "$WORK/l$SECRETS/file" })],
  ],
  [
    "reads a denied file by a call through the root of the server",
    "secret",
    [begin, call("fs/readFile", { path: "/proc/$SERVER/root$SECRETS/file" })],
  ],
  [
    "reads the environment of the server by a call",
    "secret",
    [begin, call("fs/readFile", { path: "/proc/self/environ" })],
  ],
  ["lists a denied directory by a call", "secret", [begin, call("fs/readDirectory", { path: "$SECRETS" })]],
  [
    "walks through a link to a denied directory",
    "secret",
    [link("$SECRETS"), call("fs/walk", { path: "$WORK" }, WALK)],
  ],
  [
    "copies a denied file by a call",
    "secret",
    [
      begin,
      call("fs/copy", { sourcePath: "$SECRETS/file", destinationPath: "$WORK/copy" }, { recursive: false }),
      sh("cat $WORK/copy"),
    ],
  ],
  [
    "copies a denied directory by a call",
    "secret",
    [
      begin,
      call("fs/copy", { sourcePath: "$SECRETS", destinationPath: "$WORK/copy" }, { recursive: true }),
      sh("cat $WORK/copy/file"),
    ],
  ],
  [
    "reads a file by a call that a pattern denies since the last call",
    "secret",
    [
      begin,
      call("fs/readFile", { path: "$WORK/sub/file" }),
      outside("mkdir -p $WORK/sub/later && cp $SECRETS/file $WORK/sub/later/new.hidden"),
      call("fs/readFile", { path: "$WORK/sub/later/new.hidden" }),
    ],
  ],
  [
    "reads a denied directory by a call that has been replaced since the last call",
    "secret",
    [
      begin,
      call("fs/readFile", { path: "$WORK/sub/file" }),
      outside("cp -r $SECRETS $SECRETS.new && rm -r $SECRETS && mv $SECRETS.new $SECRETS"),
      call("fs/readFile", { path: "$SECRETS/file" }),
    ],
  ],
  ["writes outside by a call", "change", [begin, call("fs/writeFile", { path: "$OUTSIDE/canary" }, ESCAPED)]],
  [
    "creates a directory outside by a call",
    "change",
    [
      begin,
      call("fs/createDirectory", { path: "$OUTSIDE/new/er" }, { recursive: true }),
      call("fs/writeFile", { path: "$OUTSIDE/new/er/file" }, ESCAPED),
    ],
  ],
  [
    "has a call write through a link",
    "change",
    [link("$OUTSIDE/canary"), call("fs/writeFile", { path: "$WORK/l" }, ESCAPED)],
  ],
  [
    "has a call write through a link to a directory",
    "change",
    [link("$OUTSIDE"), call("fs/writeFile", { path: "$WORK/l/canary" }, ESCAPED)],
  ],
  [
    "removes a file outside by a call",
    "change",
    [begin, call("fs/remove", { path: "$OUTSIDE/canary" }, { recursive: false, force: true })],
  ],
  [
    "removes a directory outside by a call through a link",
    "change",
    [link("$OUTSIDE"), call("fs/remove", { path: "$WORK/l/canary" }, { recursive: true, force: true })],
  ],
  [
    "copies over a file outside by a call",
    "change",
    [
      begin,
      call(
        "fs/copy",
        { sourcePath: "$WORK/.git/config", destinationPath: "$OUTSIDE/canary" },
        { recursive: false },
      ),
    ],
  ],
  [
    "writes into .git by a call",
    "change",
    [begin, call("fs/writeFile", { path: "$WORK/.git/config" }, ESCAPED)],
  ],
  [
    "creates .codex by a call",
    "change",
    [
      begin,
      call("fs/createDirectory", { path: "$WORK/.codex" }, { recursive: true }),
      call("fs/writeFile", { path: "$WORK/.codex/config" }, ESCAPED),
    ],
  ],
  [
    "removes .git by a call",
    "change",
    [begin, call("fs/remove", { path: "$WORK/.git" }, { recursive: true, force: true })],
  ],
  [
    "reads the token of the server by a call",
    "secret",
    [begin, call("fs/readFile", { path: "$TOKEN_FILE" })],
    { server: "token", onCodex: "escapes" },
  ],
  [
    "has a call follow a link to the token of the server",
    "secret",
    [link("$TOKEN_FILE"), call("fs/readFile", { path: "$WORK/l" })],
    { server: "token", onCodex: "escapes" },
  ],
]);
