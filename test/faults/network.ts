/**
 * Machines of one network that can be parted: network namespaces of Linux, each with an address of its own on a bridge.
 * What listens in them is reached from outside by its socket in the file system.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { atExit } from '../servers/at-exit.ts'
import { run, works } from '../servers/shell.ts'
import type { User } from '../servers/user.ts'

export interface Network {
  address (index: number): string
  /** The user whose programs run on a machine. */
  userOn (index: number, user: User): User
  /** While `on`, what a machine sends does not reach the others, nor what they send reach it; nobody is told. */
  part (index: number, on: boolean): Promise<void>
  remove (): void
}

const isRoot = process.getuid?.() === 0
/** Who is not root is it in a namespace of users, where the system allows that. */
const ALONE = ['unshare', ...isRoot ? [] : ['--map-root-user'], '--net']

/** @throws where the system has no namespaces for us */
export async function createNetwork (machines: number): Promise<Network> {
  if (!works([...ALONE, 'ip', 'link', 'add', 'br0', 'type', 'bridge'])) {
    throw new Error(
      'there are no network namespaces'
    )
  }
  const holders: ChildProcess[] = []
  /** Holds a namespace as long as this process runs. */
  const hold = async (words: readonly string[]): Promise<number> => {
    const [file = '', ...args] = [...words, 'sh', '-c', 'echo; exec cat']
    const holder = spawn(file, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    holders.push(holder)
    await Promise.race([
      once(holder.stdout, 'data'), once(holder, 'exit').then(() => { throw new Error(`${file} ended`) })
    ])
    holder.unref()
    return holder.pid as number
  }
  const remove = atExit(() => { for (const holder of holders) holder.kill('SIGKILL') })
  const within = (pid: number): string[] => [
    'nsenter', `--target=${pid}`, '--net', ...isRoot ? [] : ['--user', '--preserve-credentials']
  ]
  const address = (index: number): string => `10.0.0.${index + 1}`
  try {
    const bridge = await hold(ALONE)
    const ip = async (pid: number, words: string): Promise<string> =>
      await run([...within(pid), 'ip', ...words.split(' ')])
    await ip(bridge, 'link add br0 type bridge')
    await ip(bridge, 'link set br0 up')
    const pids: number[] = []
    for (let index = 0; index < machines; index++) {
      const pid = await hold([...within(bridge), 'unshare', '--net'])
      pids.push(pid)
      await ip(bridge, `link add port${index} type veth peer name eth0 netns ${pid}`)
      await ip(bridge, `link set port${index} master br0 up`)
      await ip(pid, 'link set lo up')
      await ip(pid, `addr add ${address(index)}/24 dev eth0`)
      await ip(pid, 'link set eth0 up')
    }
    return {
      address,
      userOn: (index, user) => ({
        ...user,
        before: [...within(pids[index] as number), ...user.before],
        options: isRoot ? user.options : [...user.options, '--user=root']
      }),
      // without the bridge the machines see their own ends of the cables, and no more
      part: async (index, on) => { await ip(bridge, `link set port${index} ${on ? 'nomaster' : 'master br0'}`) },
      remove
    }
  } catch (error) {
    remove()
    throw error
  }
}
