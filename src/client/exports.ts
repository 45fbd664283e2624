/// <reference lib="esnext.disposable" preserve="true" />
// Exports of every client entry point, in Node and in browsers.
export {
  ConnectionError,
  type ConnectionErrorCode,
  type ErrorCode,
  ExecError,
  ProtocolError,
  RpcError,
  type SpawnFailure,
  UsageError,
} from "../base/errors.ts";
export type { Logger } from "../base/logger.ts";
export type { ClientRights } from "../protocol/server.ts";
export type { ListedProcess, ProcessUsage } from "../protocol/process-extensions.ts";
export type { Enforced, Keep, ProcessLimits, SignalName } from "../protocol/process.ts";
export {
  type Sandbox,
  SANDBOX_PRESETS,
  type SandboxOptions,
  type SandboxPreset,
  sandboxContext,
} from "../protocol/sandbox-options.ts";
export type { SandboxContext } from "../protocol/sandbox.ts";
export type { EnvironmentInfo } from "../protocol/environment.ts";
export type { MethodName, Params, Result } from "../protocol/index.ts";
export type { Transport } from "../transport/transport.ts";
export type { RequestOptions } from "./calls/caller.ts";
export type { AttachKeptOptions } from "./process/attach-kept.ts";
export type { CollectOptions } from "./process/collect.ts";
export type { ConnectOptions } from "./host/open-host.ts";
export type { InProcessServer, OpenTransport } from "./link/connectors.ts";
export { HeadTail, type HeadTailOptions } from "./process/head-tail.ts";
export { FileError } from "./files/file-error.ts";
export type { DetailedEntry, DirectoryEntry, FileKind, FileStat } from "./files/file-stat.ts";
export type { FileChanges, WatchOptions } from "./files/file-watches.ts";
export type {
  CopyOptions,
  MakeDirectoryOptions,
  ReadOptions,
  ReadStreamOptions,
  RemoveOptions,
  SymlinkOptions,
  WalkOptions,
  WalkResult,
  WriteBlobOptions,
  WriteOptions,
} from "./files/file-options.ts";
export { Files } from "./files/files.ts";
export type { TreeEntry, TreeOptions, TreeProgress, TreeResult } from "./files/trees.ts";
export {
  CommandError,
  Host,
  type ListOptions,
  type RunOptions,
  type RunResult,
  type ShellOptions,
} from "./host/host.ts";
export { connectLazily, type LazyHost } from "./host/lazy.ts";
export type { OutputChoice, OutputOptions } from "./process/output-reader.ts";
export {
  type CommunicateOptions,
  type DetachOptions,
  RemoteProcess,
  type WaitOptions,
} from "./process/remote-process.ts";
export type { ScreenSnapshot, Snapshot, StreamSnapshot } from "./process/snapshot.ts";
export type { ExitReport, Gap, OutputChunk, ProcessEvent, StartedEvent } from "./routes/process-events.ts";
export { SpawnError } from "./process/spawn-error.ts";
export type { HostEvent } from "./session/event-feed.ts";
export type { SessionState } from "./session/session.ts";
export type { SessionEnd } from "./calls/session-end.ts";
export type { InputChunk, InputSource } from "./process/input-source.ts";
export type { LineOptions } from "./process/line-reader.ts";
export type { NodeWritable, PipeOptions } from "./process/output-streams.ts";
export type { ShellValue } from "./process/shell-script.ts";
export type { Argv, Command, NamedSecret, StartOptions, TerminalOptions } from "./process/start-request.ts";
export type { DecideNetwork, NetworkAccess, NetworkRequest } from "./routes/network-access.ts";
export type { ListenOptions, TcpListener } from "./tcp/tcp-listener.ts";
export type { TcpOptions, TcpStream } from "./tcp/tcp-stream.ts";
export * from "./tools/index.ts";
