type Koffi = typeof import("koffi");

type ReceiveMessage = (fd: number, bytes: Buffer, control: Buffer, flags: number) => number;

/** `recvmsg` takes structures with pointers, which is why it is not declared like other functions. */
export function messageReceiver(koffi: Koffi, library: ReturnType<Koffi["load"]>): ReceiveMessage {
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
  return (fd, bytes, control, flags) =>
    receive(
      fd,
      {
        name: null,
        nameLength: 0,
        parts: [{ base: bytes, length: bytes.length }],
        partCount: 1,
        control,
        controlLength: control.length,
        flags: 0,
      },
      flags,
    ) as number;
}
