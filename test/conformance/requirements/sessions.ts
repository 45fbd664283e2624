import type { Requirements } from "./requirement.ts";

const takeover = {
  section: "2.2",
  transports: ["ws"],
  origin: "ours",
  note: "The real server refuses until it notices by itself that the old connection is gone.",
} as const;

const overtaking = {
  section: "1.8",
  origin: "ours",
  note: "On the real server everything waits, unless --concurrent-requests is given.",
} as const;

export const sessionsRequirements = {
  "order:answers": {
    section: "1.8",
    behavior: "Requests that wait for nothing are answered in the order they were sent.",
  },
  "order:as-if-sequential": {
    section: "1.8",
    behavior: "300 pipelined requests get the answers they would have got one after another.",
  },
  "order:pipelined-handshake": {
    section: "1.8",
    behavior: "A client may send initialize, initialized and requests without waiting for answers.",
  },
  "order:start-first": {
    section: "1.8",
    behavior: "The answer to process/start precedes the first notification of the process.",
    origin: "ours",
    note: "On the real server a notification of a short process now and then overtakes the answer.",
  },
  "order:notifications-while-waiting": {
    section: "1.8",
    behavior: "Notifications flow while a long poll waits.",
  },
  "order:long-poll-blocks-nobody": {
    section: "1.8",
    behavior: "A request behind a long poll is answered at once.",
    origin: "ours",
    note: "The real server serves one request at a time unless --concurrent-requests is given.",
  },
  "order:flood": {
    section: "1.8",
    behavior: "10 000 requests sent by a client that does not read are all answered once it reads.",
    transports: ["ws", "stdio"],
    origin: "ours",
    note: "The real server stops for good when its outbound queue is full.",
  },
  "order:control-lane": {
    section: "1.8",
    behavior: "With --concurrent-requests 2 control requests are answered while two long polls wait.",
    transports: ["cli"],
  },
  "order:concurrent-handshake": {
    section: "1.8",
    behavior: "With --concurrent-requests 2 the handshake and what is pipelined behind it stay in order.",
    transports: ["cli"],
  },

  "order.overtaking:control": {
    ...overtaking,
    behavior:
      "Reads, signals, new sizes and the ends of a running process, and its flow, do not wait for file work that was sent before.",
  },
  "order.overtaking:start": {
    ...overtaking,
    behavior: "A start waits for everything that was sent before, such as the file that it runs.",
  },
  "order.overtaking:own-start": {
    ...overtaking,
    behavior: "What is asked of a process whose start still waits is done after that.",
  },
  "order.overtaking:one-process": {
    ...overtaking,
    behavior:
      "Requests about one process take effect in the order they were sent, also when some of them could overtake.",
  },
  "order.overtaking:input-waits": {
    ...overtaking,
    behavior:
      "Input waits for the file work that was sent before it, unless the client has asked for urgentInput.",
  },
  "order.overtaking:urgent-input": {
    ...overtaking,
    behavior: "With urgentInput, input and its end overtake file work, in their order.",
  },
  "order.overtaking:v0": {
    ...overtaking,
    behavior: "command/exec/terminate overtakes file work, but no other request of its dialect.",
  },
  "initialize:urgent-input": {
    section: "2.1",
    behavior: "initialize takes urgentInput, as it takes every member that it does not know.",
  },
  "initialize:result": {
    section: "2.1",
    behavior:
      "initialize answers with a session id, a version 4 UUID, the environment info, and nothing else that Codex knows.",
  },
  "initialize:client-name": {
    section: "2.1",
    behavior: "clientName must be a string; the empty one is accepted.",
  },
  "initialize:resume-type": { section: "2.1", behavior: "resumeSessionId must be a string or null." },
  "initialize:params-type": { section: "2.1", behavior: "initialize refuses params that are a scalar." },
  "initialize:once": { section: "2.1", behavior: "A second initialize on a connection is refused." },
  "initialize:once-after-decoding": {
    section: "2.1",
    behavior: "A second initialize with bad params is refused for its params.",
  },
  "initialize:once-before-lookup": {
    section: "2.1",
    behavior:
      "A second initialize is refused as such, whatever session it names, and leaves the connection usable.",
  },
  "initialize:retry-after-bad-params": {
    section: "2.1",
    behavior: "An initialize that failed for its params may be repeated on the connection.",
  },
  "initialize:retry-after-unknown-session": {
    section: "2.1",
    behavior: "An initialize that failed for an unknown session may be repeated on the connection.",
  },
  "initialize:failed-leaves-gate": {
    section: "2.1",
    behavior: "A failed initialize leaves the connection un-initialized.",
  },
  "initialized:params-ignored": { section: "2.1", behavior: "The params of initialized are ignored." },
  "initialized:repeated": { section: "2.1", behavior: "initialized may be sent again." },

  "gate.exec:before-initialize": { section: "2.1", behavior: "process/* is refused before initialize." },
  "gate.exec:before-initialized": { section: "2.1", behavior: "process/* is refused before initialized." },
  "gate.filesystem:before-initialize": { section: "2.1", behavior: "fs/* is refused before initialize." },
  "gate.filesystem:before-initialized": { section: "2.1", behavior: "fs/* is refused before initialized." },
  "gate.http:before-initialize": { section: "2.1", behavior: "http/request is refused before initialize." },
  "gate.http:before-initialized": { section: "2.1", behavior: "http/request is refused before initialized." },
  "gate.environment-info:before-initialize": {
    section: "2.1",
    behavior: "environment/info is refused before initialize.",
  },
  "gate.environment-info:before-initialized": {
    section: "2.1",
    behavior: "environment/info is refused before initialized.",
  },
  "gate.environment-status:before-initialize": {
    section: "2.1",
    behavior: "environment/status is refused before initialize.",
  },
  "gate.environment-status:before-initialized": {
    section: "2.1",
    behavior: "environment/status is refused before initialized.",
  },
  "gate.environment-config:before-initialize": {
    section: "2.1",
    behavior: "environmentConfig/read is refused before initialize.",
  },
  "gate.environment-config:before-initialized": {
    section: "2.1",
    behavior: "environmentConfig/read is refused before initialized.",
  },
  "gate.discovery:before-initialize": {
    section: "2.1",
    behavior: "Capability discovery is refused before initialize.",
  },
  "gate.discovery:before-initialized": {
    section: "2.1",
    behavior: "Capability discovery is refused before initialized.",
  },
  "gate:after-decoding": {
    section: "2.1",
    behavior: "Params are decoded before the gate: bad ones are -32602 at any time.",
  },
  "gate:refusal-harmless": { section: "2.1", behavior: "A refused request leaves the handshake possible." },

  "method:unknown": { section: "2.1", behavior: "An unknown method is -32601 with its name in the message." },
  "method:unknown-any-time": {
    section: "2.1",
    behavior:
      "An unknown method is -32601 before initialize and before initialized too, whatever its params.",
  },
  "method:exact-name": { section: "2.1", behavior: "Method names are compared exactly." },
  "method:inherited-names": {
    section: "2.1",
    behavior: "Names every JavaScript object has are unknown methods.",
  },
  "params:missing-field": { section: "2.1", behavior: "A missing member is -32602 and named." },
  "params:wrong-type": { section: "2.1", behavior: "A member of the wrong type is -32602." },
  "params:unknown-variant": { section: "2.1", behavior: "An unknown variant is -32602 with the known ones." },

  "session:new-each": {
    section: "2.2",
    behavior: "Each initialize without resumeSessionId, or with null, makes a new session.",
    transports: ["ws", "memory"],
  },
  "session:separate": {
    section: "2.2",
    behavior: "Two sessions may use the same process id and cannot see each other's processes.",
    transports: ["ws", "memory"],
  },
  "session:separate-notifications": {
    section: "2.2",
    behavior: "Notifications of a process go to its own session only.",
    transports: ["ws", "memory"],
  },
  "session.resume:same-id": {
    section: "2.2",
    behavior: "A resumed session keeps its id.",
    transports: ["ws", "memory"],
  },
  "session.resume:after-close": {
    section: "2.2",
    behavior: "A session can be resumed after a clean close.",
    transports: ["ws", "memory"],
  },
  "session.resume:after-violation": {
    section: "2.2",
    behavior: "A session can be resumed after the server ended its connection.",
    transports: ["ws", "memory"],
  },
  "session.resume:repeatedly": {
    section: "2.2",
    behavior: "A session can be resumed again and again.",
    transports: ["ws", "memory"],
  },
  "session.resume:needs-initialized": {
    section: "2.2",
    behavior: "A resumed connection must send initialized too.",
    transports: ["ws", "memory"],
  },
  "session.resume:unknown": {
    section: "2.2",
    behavior: "An unknown or empty session id is refused with -32600.",
  },
  "session.resume:exact": {
    section: "2.2",
    behavior: "Session ids are compared as text: another spelling of the UUID is unknown.",
    transports: ["ws", "memory"],
  },
  "session.resume:attached": {
    section: "2.2",
    behavior: "A session still attached is refused with -32010 and stays with its connection.",
    transports: ["ws", "memory"],
  },
  "session.takeover:silent": {
    ...takeover,
    behavior:
      "A session whose connection gives no sign of life within 2 s is handed to the one that resumes it, with its processes and their events.",
  },
  "session.takeover:farewell": {
    ...takeover,
    behavior:
      "The connection that lost its session is closed with code 4010, and nothing that it sent is done any more.",
  },
  "session.takeover:alive": {
    ...takeover,
    behavior: "A client that sends anything within the 2 s keeps its session, also when it does not read.",
  },
  "session.takeover:race": {
    ...takeover,
    behavior:
      "Of two that resume a silent session at once, one gets it and the other is refused with -32010.",
  },
  "session.takeover:leaves": {
    ...takeover,
    behavior: "When the silent connection ends meanwhile, whoever waits has the session at once.",
  },
  "session.takeover:gives-up": {
    ...takeover,
    behavior: "When the one that waits leaves, the session stays where it is.",
  },
  "session.takeover:pipelined": {
    ...takeover,
    behavior:
      "What is pipelined behind a resume that waits is done after it, and other connections do not wait.",
  },
  "session.takeover:end-not-missed": {
    ...takeover,
    behavior:
      "A process that ended while its client was silent can be read after the session is taken over, however long that took.",
  },
  "session.resume:retry": {
    section: "2.2",
    behavior:
      "A resume refused with -32010 may be repeated on the same connection until the session is free.",
    transports: ["ws", "memory"],
  },
  "session.resume:by-itself": {
    section: "2.2",
    behavior: "A connection cannot resume the session it holds.",
    transports: ["ws", "memory"],
  },
  "session.detached:process-runs": {
    section: "2.2",
    behavior: "A process goes on while its session is detached, and its output is kept and numbered.",
    transports: ["ws", "memory"],
  },
  "session.detached:no-replay": {
    section: "2.2",
    behavior: "Notifications of the time without a connection are not sent later.",
    transports: ["ws", "memory"],
  },
  "session.detached:exit-kept": {
    section: "2.2",
    behavior: "A process that ends while its session is detached can be read after the resume.",
    transports: ["ws", "memory"],
  },
  "session.resume:live-before-initialized": {
    section: "2.2",
    behavior: "Live notifications come on the new connection before initialized is sent.",
    transports: ["ws", "memory"],
  },
  "session.resume:gap": {
    section: "2.2",
    behavior: "process/read from the last seen seq returns exactly what was missed.",
    transports: ["ws", "memory"],
  },
  "session.resume:write-ids": {
    section: "2.2",
    behavior: "A write repeated after the resume with its writeId is accepted and not written again.",
    transports: ["ws", "memory"],
  },
  "session.resume:while-polling": {
    section: "2.2",
    behavior: "A long poll of the lost connection does not hinder the resume.",
    transports: ["ws", "memory"],
  },
  "session.detached:expiry": {
    section: "2.2",
    behavior:
      "80 s after the loss the processes of a detached session are killed and the session is unknown; a session resumed meanwhile lives.",
    transports: ["ws", "memory"],
    since: "0.169.0",
  },
  "session.detached:expiry-0.166": {
    section: "2.2",
    behavior: "Up to 0.166 that came after 30 s.",
    transports: ["ws"],
    until: "0.166.0",
  },
  "session:process-id-kept": {
    section: "2.2",
    behavior: "A process id of a detached session is still taken after the resume.",
    transports: ["ws", "memory"],
  },
} satisfies Requirements;
