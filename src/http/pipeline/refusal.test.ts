import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusalText } from './refusal.js';

describe('the answer to what is no request', () => {
  it('says its status in words, who it was for, and that the connection ends', () => {
    assert.equal(
      refusalText(431, 'id'),
      'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n' +
        'Content-Length: 0\r\nx-ms-request-id: id\r\n\r\n',
    );
  });

  it('has a plain body where there is more to say', () => {
    assert.equal(
      refusalText(400, 'id', 'Speak TLS.'),
      'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n' +
        'Content-Length: 10\r\nx-ms-request-id: id\r\n\r\nSpeak TLS.',
    );
  });
});
