/** Services whose hook for writes is that of the test that runs. */
import type { Test } from 'tap'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { OnWrite, WriteEvent } from '../../src/index.ts'
import { type EngineName, type Service, sharedOnEachEngine, type SharedOptions } from './service.ts'

type RunWithHook = (
  name: string, onWrite: OnWrite, run: (t: Test, service: Service) => Promise<void>, only?: readonly EngineName[]
) => Promise<void>

/** Like `sharedOnEachEngine`; each test says its hook. */
export function sharedWithHook (file: Test, { options, ...others }: SharedOptions): RunWithHook {
  let hook: OnWrite = () => {}
  const test = sharedOnEachEngine(file, {
    ...others,
    options: { ...options, onWrite: (event: WriteEvent) => hook(event) } as Partial<RowQueryOptions>
  })
  return (name, onWrite, run, only) => test(name, async (t, service) => {
    hook = onWrite
    await run(t, service)
  }, only)
}
