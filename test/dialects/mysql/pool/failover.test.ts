import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createFailover, type Failover } from '../../../../src/dialects/mysql/pool/failover.ts'

const create = (...names: string[]): Failover => createFailover(names.map((host) => ({ host, port: 3306 })))
const failing = (hosts: Failover): string => {
  hosts.fail(hosts.current)
  return hosts.current.host
}
const refusing = (hosts: Failover): string | false => hosts.refuse(hosts.epoch) && hosts.current.host

t.test('the first host is used until it fails, then the next one, in a circle', async (t) => {
  const hosts = create('a', 'b', 'c')
  t.equal(hosts.current.host, 'a')
  t.same([failing(hosts), failing(hosts), failing(hosts)], ['b', 'c', 'a'])
})

t.test('one that fails several times at once is left once', async (t) => {
  const hosts = create('a', 'b', 'c')
  const { current, epoch } = hosts
  hosts.fail(current)
  hosts.fail(current)
  t.equal(hosts.current.host, 'b')
  t.equal(hosts.epoch, epoch + 1, 'what was opened before is of the past')
})

t.test('a single host that fails is the current one still, and what is open of it too', async (t) => {
  const hosts = create('a')
  const { epoch } = hosts
  t.equal(failing(hosts), 'a')
  t.equal(hosts.epoch, epoch)
})

t.test('one that refuses is left for those that have not refused a moment ago', async (t) => {
  const hosts = create('a', 'b', 'c')
  t.same([refusing(hosts), refusing(hosts), refusing(hosts), refusing(hosts)], ['b', 'c', 'c', false])
  await sleep(250)
  t.equal(refusing(hosts), 'a', 'they are asked again later')
})

t.test('a single host that refuses may lead to another server by now: sessions are opened anew, once in a while', async (t) => {
  const hosts = create('a')
  const { epoch } = hosts
  t.same([refusing(hosts), refusing(hosts)], ['a', false])
  t.equal(hosts.epoch, epoch + 1)
})

t.test('a session of an earlier epoch that is refused has a newer one to go to', async (t) => {
  const hosts = create('a')
  const { epoch } = hosts
  t.ok(hosts.refuse(epoch))
  t.ok(hosts.refuse(epoch))
  t.equal(hosts.epoch, epoch + 1, 'and nothing changes by it')
})
