import { expect, it } from "vitest";
import { ConnectionError } from "../../../base/errors.ts";
import { LargeCopy } from "./large-copy.ts";
import type { Destination, Job, LargeFile, Source, Version } from "./sides.ts";
import type { TreeCopy } from "./tree-copy.ts";

interface Contents extends Version {
  readonly text: string;
}

const contents = (text: string, modifiedMs: number): Contents => ({ text, size: text.length, modifiedMs });

/** A copy of a file that can be replaced, block by block, into a file that says what happened to it. */
class Scene {
  current: Contents;
  readonly log: string[] = [];
  written = "";
  /** Called after each block. */
  afterBlock: () => void = () => {};

  constructor(first: Contents) {
    this.current = first;
  }

  run(): Promise<void> {
    const job = { from: "/from", to: "/to", path: "" } as Job;
    const source = {
      version: async () => ({ size: this.current.size, modifiedMs: this.current.modifiedMs }),
      blocks: (_: string, offset: number) => this.#blocks(offset),
    } as unknown as Source;
    const destination = {
      openLarge: async () => this.#open(),
    } as unknown as Destination;
    const counts = { keptBytes: () => {}, copiedBytes: () => {} };
    const copy = { operation: "upload", source, destination, ...counts } as unknown as TreeCopy;
    const options = { verifies: false, resumes: false, mode: undefined };
    return new LargeCopy(copy, job, options).run(new AbortController().signal);
  }

  async *#blocks(offset: number): AsyncGenerator<Uint8Array> {
    const { text } = this.current;
    for (let at = offset; at < text.length; at += 2) yield Buffer.from(text.slice(at, at + 2));
  }

  #open(): LargeFile {
    this.log.push("opened");
    this.written = "";
    return {
      path: "/to",
      present: async () => this.written.length,
      write: async (offset, read) => {
        this.written = this.written.slice(0, offset);
        for await (const block of await read()) {
          this.written += Buffer.from(block).toString();
          this.afterBlock();
        }
      },
      finish: async () => void this.log.push(`finished ${this.written}`),
      abandon: async () => void this.log.push("abandoned"),
    };
  }
}

/** Does something once, after that many blocks. */
function once(blocks: number, work: () => void): () => void {
  let seen = 0;
  return () => {
    seen += 1;
    if (seen === blocks) work();
  };
}

const CUT = new ConnectionError("the connection was lost", { code: "EFFECT_UNKNOWN" });

it("a file that stays as it is arrives", async () => {
  const scene = new Scene(contents("abcdef", 1));
  await scene.run();
  expect(scene.log).toEqual(["opened", "finished abcdef"]);
});

it.each([
  ["of the same size", contents("ABCDEF", 2)],
  ["that is shorter", contents("ABC", 2)],
  ["that is empty", contents("", 2)],
])(
  "a file that is replaced by one %s while it is copied is an error, and nothing takes its place",
  async (_, next) => {
    const scene = new Scene(contents("abcdef", 1));
    scene.afterBlock = once(2, () => {
      scene.current = next;
    });
    await expect(scene.run()).rejects.toThrow("upload /from: it changed while it was being copied");
    expect(scene.log).toEqual(["opened", "abandoned"]);
  },
);

it("a file that has grown while it was copied arrives as it was", async () => {
  const scene = new Scene(contents("abcdef", 1));
  scene.afterBlock = once(3, () => {
    scene.current = contents("abcdefgh", 2);
  });
  await scene.run();
  expect(scene.log).toEqual(["opened", "finished abcdef"]);
});

it("a file that was cut short while it was copied, and has grown since, is an error", async () => {
  const scene = new Scene({ ...contents("abcd", 1), size: 6 });
  scene.afterBlock = once(2, () => {
    scene.current = contents("ABCDEFGH", 2);
  });
  await expect(scene.run()).rejects.toThrow("it changed while it was being copied");
  expect(scene.log).toEqual(["opened", "abandoned"]);
});

it("after a lost connection, an unchanged file resumes where it stopped", async () => {
  const scene = new Scene(contents("abcdef", 1));
  scene.afterBlock = once(2, () => {
    throw CUT;
  });
  await scene.run();
  expect(scene.log).toEqual(["opened", "finished abcdef"]);
});

it.each([
  ["of the same size", contents("ABCDEF", 2)],
  ["that is as old", contents("ABCDEFGH", 1)],
])(
  "after a lost connection, a file that was replaced by one %s is copied from its beginning",
  async (_, next) => {
    const scene = new Scene(contents("abcdef", 1));
    scene.afterBlock = once(2, () => {
      scene.current = next;
      throw CUT;
    });
    await scene.run();
    expect(scene.log).toEqual(["opened", "abandoned", "opened", `finished ${next.text}`]);
  },
);
