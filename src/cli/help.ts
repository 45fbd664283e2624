export const HELP = `Run processes and terminals on this machine for programs elsewhere

Usage: exec-server [serve] [OPTIONS]

Options:
      --listen <URL>                 Where to serve: ws://IP:PORT (port 0 takes a free one), or stdio
                                     for one client on stdin and stdout [default: ws://127.0.0.1:0]
      --concurrent-requests <COUNT>  Requests of one connection that run at once; with 1 they run in
                                     the order they came [default: 1]
      --log-level <LEVEL>            What is logged on stderr: error, warn, info or debug
                                     [default: warn]
  -h, --help                         Print help
  -V, --version                      Print version

The address is printed on stdout, as one line. Only loopback addresses are served.
SIGTERM and SIGINT end the server and all that it started.
`;
