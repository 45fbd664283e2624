const FIN_TEXT = 0x81;
const TWO_BYTE_LENGTH = 126;
const MAX_FRAME_PAYLOAD = 0xffff;

/** As UTF-8 these fit a frame with a short header, whatever they are. */
export const MAX_SMALL_CHARACTERS = Math.floor(MAX_FRAME_PAYLOAD / 3);

/** One whole text message as a server sends it, header and all in one piece: most messages are small, and pieces cost more than bytes. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const headerLength = length < TWO_BYTE_LENGTH ? 2 : 4;
  const frame = Buffer.allocUnsafe(headerLength + length);
  frame[0] = FIN_TEXT;
  if (headerLength === 2) {
    frame[1] = length;
  } else {
    frame[1] = TWO_BYTE_LENGTH;
    frame.writeUInt16BE(length, 2);
  }
  frame.write(text, headerLength, "utf8");
  return frame;
}
