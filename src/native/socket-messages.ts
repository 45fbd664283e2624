type Koffi = typeof import("koffi");

type MessageCall = (fd: number, bytes: Buffer, control: Buffer, flags: number) => number;

/** `recvmsg` and `sendmsg` take structures with pointers, which is why they are not declared like other functions. */
export function socketMessages(
  koffi: Koffi,
  library: ReturnType<Koffi["load"]>,
): { readonly receiveMessage: MessageCall; readonly sendMessage: MessageCall } {
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
  return {
    receiveMessage: (fd, bytes, control, flags) => receive(fd, headerOf(bytes, control), flags) as number,
    sendMessage: (fd, bytes, control, flags) => send(fd, headerOf(bytes, control), flags) as number,
  };
}
