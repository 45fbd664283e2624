import { createHash } from "node:crypto";
import { inSession } from "../session.mjs";
import { outputByteCount, outputBytes } from "../wire.mjs";

const MIB = 1024 * 1024;
const VERIFIED_LINES = 2_000_000;

/** Once per server, before anything is timed: numbered lines, so that a lost or swapped chunk changes the hash. */
async function verifyContent(url) {
  const expected = createHash("sha256");
  for (let line = 1; line <= VERIFIED_LINES; line += 1000) {
    let text = "";
    for (let i = line; i < line + 1000; i++) text += `${i}\n`;
    expected.update(text);
  }
  await inSession(url, async (session) => {
    const seen = createHash("sha256");
    session.wire.onOutput = (message) => seen.update(outputBytes(message));
    await session.run(["seq", "1", String(VERIFIED_LINES)]);
    if (seen.digest("hex") !== expected.digest("hex"))
      throw new Error("output differs from what was written");
  });
}

async function stream(url, bytes) {
  return inSession(url, async (session) => {
    let received = 0;
    session.wire.onOutput = (message) => {
      received += outputByteCount(message);
    };
    const begun = performance.now();
    await session.run(["head", "-c", String(bytes), "/dev/zero"]);
    const seconds = (performance.now() - begun) / 1000;
    if (received !== bytes) throw new Error(`${received} of ${bytes} bytes arrived`);
    return { "MB/s": bytes / 1e6 / seconds };
  });
}

export default {
  name: "output",
  about: "one process writing 256 MiB, received as notifications",
  metrics: [{ name: "MB/s", better: "higher" }],
  warmUp: verifyContent,
  run: (url, { quick }) => stream(url, (quick ? 32 : 256) * MIB),
};
