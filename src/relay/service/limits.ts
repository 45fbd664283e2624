/** What one relay allows. The first two are what a Codex executor allows. */
export const LIMITS = {
  /** Streams of one environment. */
  maxStreams: 128,
  /** Handshakes of one environment that its executor has not answered. */
  maxPending: 32,
  /** The same of one token, at a time. */
  maxHandshakes: 3,
  /** How long a connected client has for its handshake, and then its executor for the answer. */
  handshakeMs: 10_000,
  answerMs: 30_000,
  /** How long a token whose handshake was refused gets no further address there; twice as long after each more. */
  refusalMs: 10_000,
  maxRefusalMs: 300_000,
  /** When a refused handshake is forgotten. */
  refusalMemoryMs: 3_600_000,
  /** After so many refused handshakes, Codex's executor refuses everyone's for so long. */
  executorPausesAfter: 8,
  executorPauseMs: 10_000,
  /** Executors that are connected. */
  maxExecutors: 10_000,
  /** Environments that are registered. Those that are offline make room, the oldest first. */
  maxEnvironments: 12_000,
  /** How long an environment belongs to its executor's key after the connection was lost, or before the first. */
  keyHoldMs: 30_000,
  /** How long the address for a client, and its authorization, can be used. */
  clientUrlMs: 30_000,
  authorizationMs: 60_000,
  /** Longest frame of a client, and of an executor. */
  maxClientFrameBytes: 70 * 1024,
  maxExecutorFrameBytes: 256 * 1024,
  /**
   * Unsent bytes for a client at which its executor has to wait: unless that would hold up others, and the client has
   * taken nothing for so long. More than two ends of this project ever have on their way.
   */
  fullBytes: 2 * 1024 * 1024,
  stoppedMs: 50,
  /** Unsent bytes for a client that does not read. Beyond it, its stream is reset. */
  maxQueuedBytes: 16 * 1024 * 1024,
  /** Unsent bytes for all clients. Beyond it, the one with most is reset. */
  maxTotalQueuedBytes: 256 * 1024 * 1024,
  memoryWatchMs: 250,
  /** Unsent bytes for an executor beyond which its clients take turns. */
  maxExecutorQueuedBytes: 256 * 1024,
  /** What the clients of one token may send in a turn. */
  turnBytes: 64 * 1024,
  pingMs: 5_000,
  /** Silence after which a socket is dead. */
  silenceMs: 15_000,
  /** Keys of an environment that others have superseded. */
  maxSupersededKeys: 16,
  /** Sockets that are not connections yet: after a restart, every executor registers at once. */
  maxPendingSockets: 4_096,
  maxBodyBytes: 16 * 1024,
} as const;
