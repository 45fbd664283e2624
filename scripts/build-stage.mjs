// `node scripts/build-stage.mjs`: compiles the stage of the sandbox for every processor and writes it into
// src/native/stage/stage-binaries.ts. Needs Debian's `gcc` and `gcc-aarch64-linux-gnu` on x64 (or the reverse on arm64).
// `--check` needs no compiler: it compares the digest of the source with the one in the generated file.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SOURCE = "src/native/stage/stage.c";
const TARGET = "src/native/stage/stage-binaries.ts";

const COMPILERS = { x64: "x86_64-linux-gnu-gcc", arm64: "aarch64-linux-gnu-gcc" };
// One segment that is never writable; arm64 kernels may have pages of 64 KiB.
const FLAGS =
  "-static -nostdlib -nostartfiles -ffreestanding -fno-builtin -fno-stack-protector " +
  "-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-pie -no-pie -Os -Wall " +
  "-Wextra -Werror -s -Wl,--build-id=none,-z,noseparate-code,-z,max-page-size=65536";

const digest = createHash("sha256").update(readFileSync(SOURCE)).update(FLAGS).digest("hex");

if (process.argv.includes("--check")) {
  if (!readFileSync(TARGET, "utf8").includes(digest)) {
    console.error(`${TARGET} was not made from the present ${SOURCE}: run node scripts/build-stage.mjs`);
    process.exitCode = 1;
  }
} else {
  const directory = mkdtempSync(join(tmpdir(), "stage-"));
  try {
    const binaries = Object.entries(COMPILERS).map(([arch, compiler]) => {
      const file = join(directory, arch);
      execFileSync(compiler, [...FLAGS.split(" "), "-o", file, SOURCE], { stdio: "inherit" });
      const lines =
        readFileSync(file)
          .toString("base64")
          .match(/.{1,100}/g) ?? [];
      return `  ${arch}: [\n${lines.map((line) => `    "${line}",\n`).join("")}  ].join(""),\n`;
    });
    writeFileSync(
      TARGET,
      `// Made by scripts/build-stage.mjs from stage.c. Digest of the source and the flags:\n// ${digest}\n\n` +
        "/** The program of stage.c, compiled, in base64. */\nexport const STAGE_BINARIES = {\n" +
        `${binaries.join("")}};\n`,
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}
