type Koffi = typeof import("koffi");

type MessageCall = (fd: number, bytes: Buffer, control: Buffer, flags: number) => number;

/** Functions whose structures contain pointers, and which therefore cannot be declared like other functions. */
export interface StructureCalls {
  /** Writes the message's ancillary data into `control`, and returns its length, or -1. */
  readonly receiveMessage: MessageCall;
  /** Sends bytes with what `control` describes, such as descriptors, and returns how many bytes, or -1. */
  readonly sendMessage: MessageCall;
  /** The system's entry of a user, by name or number. Undefined if it does not exist. */
  readonly findUser: (user: string | number) => PasswordEntry | undefined;
}

/** A user as the system lists it, in its files or elsewhere. */
interface PasswordEntry {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

export function structureCalls(koffi: Koffi, library: ReturnType<Koffi["load"]>): StructureCalls {
  const part = koffi.struct({ base: "void *", length: "size_t" });
  const header = koffi.struct({
    name: "void *",
    nameLength: "uint32_t",
    parts: koffi.pointer(part),
    partCount: "size_t",
    control: "void *",
    controlLength: "size_t",
    flags: "int",
  });
  const receive = library.func("recvmsg", "long", ["int", koffi.inout(koffi.pointer(header)), "int"]);
  const send = library.func("sendmsg", "long", ["int", koffi.pointer(header), "int"]);
  const headerOf = (bytes: Buffer, control: Buffer) => ({
    name: null,
    nameLength: 0,
    parts: [{ base: bytes, length: bytes.length }],
    partCount: 1,
    control,
    controlLength: control.length,
    flags: 0,
  });
  const entry = koffi.struct({
    name: "const char *",
    password: "const char *",
    uid: "uint32_t",
    gid: "uint32_t",
    comment: "const char *",
    home: "const char *",
    shell: "const char *",
  });
  const byName = library.func("getpwnam", koffi.pointer(entry), ["const char *"]);
  const byNumber = library.func("getpwuid", koffi.pointer(entry), ["uint32_t"]);
  return {
    receiveMessage: (fd, bytes, control, flags) => receive(fd, headerOf(bytes, control), flags) as number,
    sendMessage: (fd, bytes, control, flags) => send(fd, headerOf(bytes, control), flags) as number,
    findUser: (user) => {
      const pointer: unknown = typeof user === "number" ? byNumber(user) : byName(user);
      return pointer === null ? undefined : (koffi.decode(pointer, entry) as PasswordEntry);
    },
  };
}
