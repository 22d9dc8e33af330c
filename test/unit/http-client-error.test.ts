import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { refuseConnect } from '../../src/http/client-error.ts';

it('a tunnel that is reset while it is refused is no error of the server', () => {
  const socket = new PassThrough();
  refuseConnect({} as IncomingMessage, socket); // The request is not looked at.
  socket.emit('error', new Error('read ECONNRESET'));
  expect(socket.destroyed).toBe(true);
});
