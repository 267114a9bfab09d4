import { createConnection, type Socket } from 'node:net';
import type { Target } from '../http-request.js';
import { acceptanceOf, listen, readerFor, type Acceptance, type Workload } from '../load.js';

/** A closed loop over connections that stay open between the stretches in which it runs. */
export class StretchLoad {
  readonly #workload: Workload;
  readonly #accept: Acceptance;
  readonly #sockets: Socket[] = [];
  #toSend = 0;
  #underWay = 0;
  #end: { readonly resolve: () => void; readonly reject: (reason: Error) => void } | undefined;

  constructor(target: Target, workload: Workload, connections: number) {
    this.#workload = workload;
    this.#accept = acceptanceOf(workload);
    for (let index = 0; index < connections; index += 1) this.#connect(target, index);
  }

  /**
   * Sends this number of requests; resolves when all are answered. Rejects at the first wrong
   * answer.
   */
  run(requests: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
      this.#toSend = requests;
      for (const [index, socket] of this.#sockets.entries()) this.#send(socket, index);
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.removeAllListeners().destroy();
  }

  #connect({ port, host }: Target, index: number): void {
    const socket = createConnection(port, host);
    const reader = readerFor(this.#workload, (status, body, bytes) => {
      this.#accept(index, status, body, bytes);
      this.#underWay -= 1;
      if (this.#toSend > 0) this.#send(socket, index);
      else if (this.#underWay === 0) this.#end?.resolve();
    });
    const fail = (reason: Error): void => this.#end?.reject(reason);
    listen(socket, reader, () => undefined, fail);
    this.#sockets.push(socket);
  }

  #send(socket: Socket, index: number): void {
    if (this.#toSend === 0) return;
    const request = this.#workload.next(index);
    if (request === undefined) {
      this.#end?.reject(new Error('The load ended before its stretch.'));
      return;
    }
    this.#toSend -= 1;
    this.#underWay += 1;
    socket.write(request);
  }
}
