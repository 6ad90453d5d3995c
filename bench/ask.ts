/** Requests to a child process and its replies, over Node's IPC channel. */
import type { Spawned } from './contenders/spawn.ts'

type Answer = { readonly value: unknown } | { readonly error: string }

/** Sends one request at a time. @throws the error of the child, or an error if it has ended */
export function ask<T> ({ child, printed }: Spawned, question: object): Promise<T> {
  return new Promise((resolve, reject) => {
    const onMessage = (answer: Answer): void => {
      child.off('exit', onExit)
      if ('error' in answer) reject(new Error(answer.error))
      else resolve(answer.value as T)
    }
    const onExit = (): void => {
      child.off('message', onMessage)
      reject(new Error(`a process ended without an answer: ${printed()}`))
    }
    child.once('message', onMessage)
    child.once('exit', onExit)
    child.send(question)
  })
}

/** In the child: replies to requests until the parent disconnects. */
export function answer (handle: (question: never) => Promise<unknown>): void {
  process.on('disconnect', () => { process.exit() })
  process.on('message', (question) => {
    handle(question as never).then(
      (value) => { process.send?.({ value } satisfies Answer) },
      (error: unknown) => { process.send?.({ error: String((error as Error).stack) } satisfies Answer) }
    )
  })
}
