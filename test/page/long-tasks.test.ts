// night: measures times
/** How long the page keeps the browser busy: no task takes 50 ms of CPU, also of the browser for it, such as layout. */
import t from 'tap'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { onEachEngine, TOKEN, type Schema, type Service } from '../support/service.ts'
import { rowsOf, signIn, visit } from '../support/workbench.ts'

const COLUMNS = Array.from({ length: 30 }, (_, index) => `c${index}`)
const schema: Schema = () => [
  `create table readings (c0 integer primary key, ${COLUMNS.slice(1).map((name) => `${name} varchar(20)`).join(', ')},
    taken date not null)`,
  `insert into readings with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) select i,
    ${COLUMNS.slice(1).map((_, index) => `'value ' || (i * ${index + 1} % 500)`).join(', ')}, 
    date('2024-01-01', i || ' days') from n`
]

/** Milliseconds. */
const LONG = 50
/** The first time, the code is not compiled. */
const TIMES = 3

interface TraceEvent {
  readonly name: string,
  readonly pid: number,
  readonly tid: number,
  readonly args: {
    readonly name?: string
  },
  readonly tdur?: number
}

await onEachEngine(t, 'long tasks', {
  schema, only: ['sqlite'], options: { docs: true }
}, async (t, { server }: Service) => {
  if (noBrowser !== false) return t.comment(noBrowser)
  const address = await server.app.listen({ port: 0 })
  const browser = await startBrowser(t)
  const { page, faults } = await visit(t, browser, address, { viewport: { width: 1400, height: 900 } })
  await signIn(page, TOKEN)
  await page.getByRole('navigation').waitFor()
  await page.evaluate('globalThis.longest = 0, new PerformanceObserver((list) => { for (const { duration } of ' +
    "list.getEntries()) longest = Math.max(longest, duration) }).observe({ type: 'longtask' })")
  const found = new Map<string, Array<{ readonly cpu: number, readonly entry: number }>>()
  /** `act` waits by styles: what a test asks about roles is work of the browser too. */
  const measure = async (step: string, act: () => Promise<unknown>): Promise<void> => {
    await page.evaluate('longest = 0')
    await browser.startTracing(page, { categories: ['toplevel'] })
    await act()
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50))))'
    )
    const { traceEvents } = JSON.parse(String(await browser.stopTracing())) as { traceEvents: TraceEvent[] }
    const threads = new Set(traceEvents.filter(
      ({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain'
    ).map(({ pid, tid }) => `${pid} ${tid}`))
    const tasks = traceEvents.filter(
      ({ name, pid, tid, tdur }) => name.endsWith('RunTask') && tdur !== undefined && threads.has(`${pid} ${tid}`)
    ).map(({ tdur = 0 }) => tdur / 1000)
    t.ok(tasks.length > 0)
    found.set(step, [
      ...found.get(step) ?? [], { cpu: Math.max(...tasks), entry: await page.evaluate('longest') as number }
    ])
  }
  const go = async (hash: string): Promise<void> => { await page.evaluate(`location.hash = ${JSON.stringify(hash)}`) }
  const bodyOf = (body: object): string => `#/shop/readings?body=${encodeURIComponent(JSON.stringify(body))}`
  const byDay = {
    verb: 'select',
    groupBy: [
      { day: { $date: 'taken' } }
    ],
    aggregates: { n: { $count: '*' } },
    orderBy: 'day',
    limit: 1000
  }
  const at = (selector: string) => page.locator(selector).first()

  for (let time = 0; time < TIMES; time++) {
    await go('#/shop/readings?view=reference')
    await at('.reference').waitFor()
    await measure('open 1,000 rows of 31 columns', async () => {
      await go(bodyOf({ verb: 'select', limit: 1000 }))
      await at('tr.row').waitFor()
    })
    await rowsOf(page, 'readings')
    await page.evaluate(`globalThis.added = 0, new MutationObserver((records) => {
      const rows = records.flatMap(({ addedNodes }) => [...addedNodes].filter(({ nodeName }) => nodeName === 'TR'))
      added = Math.max(added, rows.length)
    }).observe(document.querySelector('.grid tbody'), { childList: true })`)
    await measure('scroll through them', async () => {
      for (let part = 1; part <= 20; part++) {
        await page.evaluate(`(() => {
          const content = document.querySelector('.content')
          content.scrollTop = ${part / 20} * content.scrollHeight
          return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
        })()`)
      }
      await at('tr.row[aria-rowindex="1001"]').waitFor()
    })
    const added = await page.evaluate('added') as number
    t.ok(added > 0 && added <= 60, `${added} rows are added to the document at once`)
    await measure('open a row', async () => {
      await at('tr.row[aria-rowindex="1001"] .opener button').click()
      await at('.row-panel dl').waitFor()
    })
    await at('tr.row[aria-rowindex="1001"] .opener button').click()
    await measure('edit a cell', async () => {
      await at('tr.row[aria-rowindex="1001"] td:nth-child(4)').dblclick()
      await at('.cell-editor input').fill('another')
      await page.keyboard.press('Escape')
      await at('.cell-editor').waitFor({ state: 'detached' })
    })
    await measure(
      'walk through cells', async () => { for (let step = 0; step < 12; step++) await page.keyboard.press('ArrowUp') }
    )
    await measure('the menu of a column', async () => {
      await at('thead th:nth-child(4)').hover()
      await at('thead th:nth-child(4) .icon-button').click()
      await at('.frequent .item').waitFor()
    })
    await page.keyboard.press('Escape')
    await measure('the form of a request', async () => {
      await at('button.summary').click()
      await at('.filter input').fill('value 4')
    })
    await at('button.summary').click()
    await measure('draw a chart of 1,000 days', async () => {
      await go(bodyOf(byDay))
      await at('.chart svg[role=img]').waitFor()
    })
  }
  for (const [step, times] of found) {
    const write = (entry: number): string => entry === 0 ? `below ${LONG}` : String(Math.round(entry))
    t.comment(
      `${step}: longest task ${times.map(({ cpu }) => Math.round(cpu)).join(', ')} ms of CPU; long-task entries: ` +
        `${times.map(({ entry }) => write(entry)).join(', ')} ms`
    )
    t.ok(Math.min(...times.map(({ cpu }) => cpu)) <= LONG, step)
  }
  t.same(faults, [])
})
