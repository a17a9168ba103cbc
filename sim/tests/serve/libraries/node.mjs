// Takes, extends and gives back a lock with each library of Node, on the server at a port: node node.mjs PORT.
//
// Needs: npm i redis ioredis redlock@5.0.0-beta.2 redlock4@npm:redlock@4.2.0 redis-semaphore
import { readFileSync } from 'node:fs';
import { createClient } from 'redis';
import Redis from 'ioredis';

const port = Number(process.argv[2]);
const version = name => JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;

async function attempt(name, check) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('no answer in 20 s')), 20000).unref());
  let said;
  try {
    const claims = await Promise.race([check(), late]);
    const wrong = Object.keys(claims).filter(claim => !claims[claim]);
    said = wrong.length ? `FAILED not so: ${wrong.join(', ')}` : `ok: ${Object.keys(claims).join(', ')}`;
  } catch (error) {
    said = `FAILED ${error.name}: ${error.message}`;
  }
  console.log(`${name} ${version(name)}: ${said}`);
}

const io = new Redis(port, { lazyConnect: true, maxRetriesPerRequest: 1 });
io.on('error', () => {});
process.on('unhandledRejection', error => console.log(`unhandled rejection: ${error.message}`));

await attempt('redis', async () => {
  const client = createClient({ url: `redis://127.0.0.1:${port}/2` });
  client.on('error', () => {});
  await client.connect();
  await client.flushAll();
  const set = await client.set('a', '1', { NX: true, PX: 10000 });
  const multi = await client.multi().incr('a').get('a').exec();
  const script = 'if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) end return 0';
  const deleted = await client.eval(script, { keys: ['a'], arguments: ['2'] });
  const listener = client.duplicate();
  await listener.connect();
  const heard = new Promise(resolve => listener.subscribe('c', resolve).then(() => client.publish('c', 'hello')));
  const message = await heard;
  await listener.close();
  await client.close();
  return { set: set === 'OK', multi: String(multi) === '2,2', eval: deleted === 1, publish: message === 'hello' };
});

await attempt('ioredis', async () => {
  await io.connect();
  await io.flushall();
  const set = await io.set('a', '1', 'PX', 10000, 'NX');
  const multi = await io.multi().incr('a').get('a').exec();
  const piped = await io.pipeline().get('a').pttl('a').exec();
  const list = await io.client('LIST');
  return { set: set === 'OK', multi: multi[1][1] === '2', pipeline: piped[1][1] > 9000, list: list.includes('id=') };
});

await attempt('redlock4', async () => {
  const Redlock = (await import('redlock4')).default;
  const redlock = new Redlock([io], { retryCount: 0 });
  const lock = await redlock.lock('r4', 10000);
  const refused = await redlock.lock('r4', 1000).then(() => false, () => true);
  const extended = await lock.extend(20000);
  const lives = (await io.pttl('r4')) > 10000;
  await extended.unlock();
  return { acquire: true, refuse: refused, extend: lives, release: !(await io.exists('r4')) };
});

await attempt('redlock', async () => {
  const { default: Redlock } = await import('redlock').then(module => module.default.default ? module.default : module);
  const redlock = new Redlock([io], { retryCount: 0 });
  let lock = await redlock.acquire(['r5a', 'r5b'], 10000);
  const refused = await redlock.acquire(['r5b'], 1000).then(() => false, () => true);
  lock = await lock.extend(20000);
  const lives = (await io.pttl('r5a')) > 10000;
  await lock.release();
  return { acquire: true, refuse: refused, extend: lives, release: !(await io.exists('r5a')) };
});

await attempt('redis-semaphore', async () => {
  const { Mutex, Semaphore, MultiSemaphore, RedlockMutex } = await import('redis-semaphore');
  const options = { lockTimeout: 2000, refreshInterval: 400, acquireTimeout: 500, onLockLost: error => { throw error; } };
  const mutex = new Mutex(io, 'm', options);
  await mutex.acquire();
  const refused = await new Mutex(io, 'm', options).acquire().then(() => false, () => true);
  await new Promise(resolve => setTimeout(resolve, 2500));
  const refreshed = (await io.pttl('mutex:m')) > 1000;
  await mutex.release();
  const [one, two] = [new Semaphore(io, 's', 2, options), new Semaphore(io, 's', 2, options)];
  await one.acquire();
  await two.acquire();
  const full = await new Semaphore(io, 's', 2, options).acquire().then(() => false, () => true);
  await one.release();
  await two.release();
  const many = new MultiSemaphore(io, 'ms', 3, 2, options);
  await many.acquire();
  await many.release();
  const redlock = new RedlockMutex([io], 'rm', options);
  await redlock.acquire();
  await new Promise(resolve => setTimeout(resolve, 1000));
  await redlock.release();
  return { mutex: refused, refresh: refreshed, semaphore: full, redlock_mutex: !(await io.exists('mutex:rm')) };
});

io.disconnect();
process.exit(0);
