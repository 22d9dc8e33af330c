/**
 * Loaded into a server before its own code: at each SIGUSR2 its wall clock is set by the milliseconds
 * that the query names, and a line of the log tells. Timers run on, as they do on any machine whose
 * clock is set.
 */

const byMs = Number(new URL(import.meta.url).search.slice(1));
if (!Number.isSafeInteger(byMs)) throw new Error('Name the milliseconds, as in ?3600000.');

const { now } = Date;
let setMs = 0;
Date.now = () => now() + setMs;

process.on('SIGUSR2', () => {
  setMs += byMs;
  process.stderr.write(`${JSON.stringify({ level: 'info', msg: 'clock', setMs })}\n`);
});
