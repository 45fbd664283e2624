import { beforeEach, describe, expect, it } from "vitest";
import { FlowControl, type FlowOwner } from "./flow-control.ts";

/** What was done, in order. */
let done: string[];
let methods: readonly string[];

const owner: FlowOwner = {
  supports: (method) => methods.includes(method),
  pauseLink: (paused) => void done.push(paused ? "pause" : "resume"),
  request: (method, params) => {
    done.push(`${method} ${JSON.stringify(params)}`);
    return Promise.reject(new Error("it has ended"));
  },
};

beforeEach(() => {
  done = [];
  methods = [];
});

describe("flow control with a server that has no method for it", () => {
  it("pauses the link while any reader is behind", () => {
    const flow = new FlowControl(owner);
    flow.hold("process", "1", true);
    flow.hold("http", "1", true);
    flow.hold("process", "1", false);
    expect(done).toEqual(["pause"]);
    flow.forget("http", "1");
    expect(done).toEqual(["pause", "resume"]);
  });

  it("lets the answers to all requests through", () => {
    const flow = new FlowControl(owner);
    flow.hold("process", "1", true);
    flow.asked();
    flow.asked();
    flow.answered();
    expect(done).toEqual(["pause", "resume"]);
    flow.answered();
    expect(done).toEqual(["pause", "resume", "pause"]);
    flow.hold("process", "1", false);
    expect(done.at(-1)).toBe("resume");
  });

  it("no longer waits for readers once it is released", () => {
    const flow = new FlowControl(owner);
    flow.hold("process", "1", true);
    flow.release();
    flow.hold("process", "2", true);
    expect(done).toEqual(["pause", "resume"]);
  });

  it("pauses a new link for the processes that were held on the last one", () => {
    const flow = new FlowControl(owner);
    flow.hold("process", "1", true);
    flow.hold("http", "1", true);
    flow.renew();
    expect(done).toEqual(["pause", "pause"]);
    flow.hold("process", "1", false);
    expect(done).toEqual(["pause", "pause", "resume"]);
  });
});

describe("flow control with a server that has methods for it", () => {
  it("asks for the one process or body, and pauses nothing else", () => {
    methods = ["process/flow", "http/flow"];
    const flow = new FlowControl(owner);
    flow.hold("process", "p", true);
    flow.hold("http", "h", true);
    flow.hold("http", "h", false);
    flow.renew();
    flow.release();
    expect(done).toEqual([
      'process/flow {"processId":"p","paused":true}',
      'http/flow {"requestId":"h","paused":true}',
      'http/flow {"requestId":"h","paused":false}',
      'process/flow {"processId":"p","paused":true}',
      'process/flow {"processId":"p","paused":false}',
    ]);
  });
});
