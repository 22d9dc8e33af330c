import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface TlsCertificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

/**
 * Makes a self-signed certificate for `localhost` and `127.0.0.1`, good until the end of 2049. It is made
 * anew each time, so that no private key lies in the repository.
 */
export function makeCertificate(): TlsCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // One name each: of two trusted ones with the same name OpenSSL may look at the wrong one alone.
  const common = `webhook receiver ${randomBytes(8).toString('hex')}`;
  const name = sequence(set(sequence(COMMON_NAME, der(0x0c, Buffer.from(common)))));
  const validity = sequence(utcTime('000101000000Z'), utcTime('491231235959Z'));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(basicConstraints(), subjectAltName())),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', toBeSigned, privateKey)]);
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem(sequence(toBeSigned, ECDSA_WITH_SHA256, der(0x03, signature))),
  };
}

const TRUE = Buffer.from([0xff]);

const basicConstraints = (): Buffer =>
  sequence(BASIC_CONSTRAINTS, der(0x01, TRUE), octets(sequence(der(0x01, TRUE))));

function subjectAltName(): Buffer {
  const names = sequence(
    der(0x82, Buffer.from('localhost')),
    der(0x87, Buffer.from([127, 0, 0, 1])),
  );
  return sequence(SUBJECT_ALT_NAME, octets(names));
}

/** One value in DER: its tag, its length, itself. */
function der(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  return length < 0x100
    ? Buffer.from([0x81, length])
    : Buffer.from([0x82, Math.floor(length / 0x100), length % 0x100]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(parts));
const set = (...parts: readonly Buffer[]): Buffer => der(0x31, Buffer.concat(parts));
const octets = (content: Buffer): Buffer => der(0x04, content);
const utcTime = (text: string): Buffer => der(0x17, Buffer.from(text));
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

const COMMON_NAME = objectId('550403');
const BASIC_CONSTRAINTS = objectId('551d13');
const SUBJECT_ALT_NAME = objectId('551d11');
const ECDSA_WITH_SHA256 = sequence(objectId('2a8648ce3d040302'));

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
