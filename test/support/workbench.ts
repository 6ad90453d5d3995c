/** The page at {prefix}/docs as a person uses it, in a browser. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import { toolsFolder } from '../clients/tools.ts'

/** How long a test waits for what it expects, in milliseconds: the machine may be busy. */
const PATIENCE = 60_000

export interface Visit {
  readonly page: Page
  readonly faults: string[]
  /**
   * What the page has asked before something that was entered is lost, and what it is told: yes, if nothing else is
   * said.
   */
  readonly asked: string[]
  readonly replies: boolean[]
}

/** Opens the page. Errors of its scripts and policy, and requests to other hosts, are faults. */
export async function visit (
  t: Test, browser: Browser, address: string,
  { path = '/api/docs', ...options }: BrowserContextOptions & { path?: string } = {}
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const faults: string[] = []
  // the browser reports every answer of 400 and more
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) &&
    !message.text().startsWith('Failed to load resource')) faults.push(message.text())
  })
  page.on('pageerror', (error) => { faults.push(error.message) })
  page.on('request', (request) => {
    if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(`${address}/`)) faults.push(request.url())
  })
  const asked: string[] = []
  const replies: boolean[] = []
  page.on('dialog', (dialog) => {
    asked.push(dialog.message())
    replies.shift() === false ? dialog.dismiss() : dialog.accept()
  })
  await page.goto(address + path)
  return { page, faults, asked, replies }
}

export async function signIn (page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Open' }).click()
}

export async function openTable (page: Page, name: string): Promise<Locator> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, exact: true }).waitFor()
  return await rowsOf(page, name)
}

export async function rowsOf (page: Page, name: string): Promise<Locator> {
  const rows = page.getByRole('region', { name: `Rows of ${name}`, exact: true })
  await rows.waitFor()
  return rows
}

/** Opens the form of a select, which is one line before. */
export async function openQuery (page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Query/, expanded: false }).click()
}

export const button = (page: Page
  | Locator, name: string | RegExp): Locator => page.getByRole('button', { name, exact: typeof name === 'string' })
export const verb = (page: Page, name: string): Locator => button(page.getByRole('group', { name: 'Verb' }), name)
export const body = (page: Page): Locator => page.getByRole('textbox', { name: 'Request body' })
export const readBody = async (page: Page): Promise<any> => JSON.parse(await body(page).inputValue())
export const status = (page: Page, text: string
  | RegExp): Locator => page.getByRole('region', { name: 'Answer' }).getByRole('status').filter({ hasText: text })
export const overflow = async (page: Page): Promise<number> =>
  await page.evaluate('document.documentElement.scrollWidth - innerWidth')
/** The classes of what scrolls up and down, but inputs. */
export const scrolling = async (page: Page): Promise<unknown> => await page.evaluate(
  "[...document.querySelectorAll('body, main, div, section')].filter((each) => each.scrollHeight > each.clientHeight " +
    '+ 1 && /auto|scroll/.test(getComputedStyle(each).overflowY)).map((each) => each.className)'
)
export const cellsOf = async (rows: Locator): Promise<string[]> =>
  (await rows.locator('tbody tr').first().locator('td').allInnerTexts()).slice(1)

const axe = readFileSync(join(await toolsFolder(), 'node_modules/axe-core/axe.min.js'), 'utf8')

/** What axe finds: the rule and the elements. */
export async function findingsOf (page: Page): Promise<string[]> {
  await page.evaluate(axe)
  return await page.evaluate('axe.run(document, { preload: false }).then(({ violations }) => violations.flatMap(({ ' +
    "id, nodes }) => nodes.map(({ html, any, all }) => id + ': ' + html.slice(0, 200) + [...any, ...all].map(({ " +
      'message }) => message).join())))')
}
