// An HTTP server with minimal work per byte: GET /small, GET /body/BYTES.
import net from "node:net";
import { PIECE } from "./upstream.mjs";

const SMALL = Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok");

function answer(socket, head) {
  const bytes = /^GET \/body\/(\d+) /.exec(head)?.[1];
  if (bytes === undefined) return socket.write(SMALL);
  let left = Number(bytes);
  socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${left}\r\n\r\n`);
  const pump = () => {
    while (left > 0) {
      const piece = left >= PIECE.length ? PIECE : PIECE.subarray(0, left);
      left -= piece.length;
      if (!socket.write(piece)) return socket.once("drain", pump);
    }
  };
  pump();
}

const server = net.createServer({ noDelay: true }, (socket) => {
  let head = "";
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes) => {
    head += bytes.toString("latin1");
    for (let end = head.indexOf("\r\n\r\n"); end !== -1; end = head.indexOf("\r\n\r\n")) {
      answer(socket, head.slice(0, end));
      head = head.slice(end + 4);
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
