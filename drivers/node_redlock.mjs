// npm's redlock under `picklock try`: takes a lock again and again, and says to the witness when it is in.
//
//   npm install ioredis@5 redlock@5.0.0-beta.2
//   picklock try -- node drivers/node_redlock.mjs
import net from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import Redis from 'ioredis'
import Redlock from 'redlock'

const leaseMs = Number(process.env.PICKLOCK_LEASE_MS)
const patience = Number(process.env.PATIENCE_MS ?? 100) || undefined // of a server's answer; 0: without an end
const [host, port] = process.env.PICKLOCK_WITNESS.split(':')
const socket = net.connect(Number(port), host)
const answers = createInterface({ input: socket })[Symbol.asyncIterator]()
// Says it, and waits until it was heard.
const say = async line => { socket.write(line + '\n'); return (await answers.next()).value }

const clients = process.env.PICKLOCK_REDIS.split(',').map(address => {
  const [host, port] = address.split(':')
  const client = new Redis({ host, port: Number(port), commandTimeout: patience, maxRetriesPerRequest: 0 })
  return client.on('error', () => {}) // that a server is away is what is tried here
})
const retries = Number(process.env.RETRIES ?? 0) // by the library, with the same value
const redlock = new Redlock(clients, { retryCount: retries })
redlock.on('error', () => {})

while (await say('want orders') === 'ok') {
  let lock
  try {
    lock = await redlock.acquire(['orders'], leaseMs)
  } catch {
    await sleep(Math.random() * 20)
    continue
  }
  await say('enter orders')
  await sleep(leaseMs * (0.1 + Math.random() * 0.3))
  await say('write orders') // this library has no token that the write could carry
  await say('leave orders')
  await lock.release().catch(() => {})
}
process.exit(0)
