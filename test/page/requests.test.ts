// night: drives a browser
/** Named requests on the page at {prefix}/docs: those of the demo, in a wide window and on a phone. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { DEMO_REQUESTS, DEMO_ROLE } from '../../src/config/demo-requests.ts'
import { createShop } from '../../src/demo/shop.ts'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { startService } from '../support/service.ts'
import { body, button, findingsOf, overflow, readBody, signIn, status, visit } from '../support/workbench.ts'

/** Parameters of each kind, with the rights of the caller. */
const kinds = {
  description: 'Customers of a country',
  database: 'demo',
  table: 'customers',
  parameters: {
    countries: { description: 'two letters each' },
    newsletter: { optional: true },
    born: { optional: true },
    prefers: { optional: true },
    since: { default: '2020-01-01T00:00:00' }
  },
  body: {
    verb: 'select',
    columns: ['id', 'name', 'country'],
    orderBy: 'id',
    filters: {
      country: { $in: { $param: 'countries' } },
      newsletter: { $param: 'newsletter' },
      birthday: { $gte: { $param: 'born' } },
      preferences: { $param: 'prefers' },
      created_at: { $gte: { $param: 'since' } }
    }
  }
} as const

const tokens = [
  { name: 'all', sha256: hashToken('all'), permissions: ['select', 'insert', 'update'], requests: '*' },
  { name: 'website', sha256: hashToken('website'), requests: ['find_products', 'sign_up'] },
  { name: 'products', sha256: hashToken('products'), permissions: ['select'], databases: { demo: { products: {} } } }
] as const

for (const { width, colorScheme } of [
  { width: 1300, colorScheme: 'light' }, { width: 390, colorScheme: 'dark' }
] as const) {
  t.test(`named requests on the page, ${width}, ${colorScheme}`, { skip: noBrowser }, async (t) => {
    const path = `${t.testdir()}/shop.db`
    createShop(path)
    const options = {
      databases: {
        demo: { url: `sqlite:${path}` }
      },
      roles: { front: DEMO_ROLE },
      requests: { ...DEMO_REQUESTS, kinds },
      tokens,
      docs: true
    }
    const { server: { app } } = await startService(t, '', { options: options as any })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    const browser = await startBrowser(t)
    const isNarrow = width < 720
    const view = { viewport: { width, height: 900 }, colorScheme, hasTouch: isNarrow }
    const { page, faults, asked, replies } = await visit(t, browser, address, view)
    const calls: string[] = []
    const documents: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/requests/openapi.json')) documents.push(request.url())
      if (/\/requests\/\w+(\?|$)/.test(request.url())) {
        calls.push(
        `${request.method()} ${request.url().slice(address.length)} ${request.postData() ?? ''}`
        )
      }
    })
    const hasNoFinding = async (what: string): Promise<void> => {
      t.same(await findingsOf(page), [], what)
      t.same(await overflow(page), 0, `${what}: nothing runs over the edge`)
    }
    const list = page.getByRole('list', { name: 'Named requests', includeHidden: true })
    const open = async (name: string): Promise<void> => {
      if (isNarrow) await page.getByRole('navigation').getByRole('button').click()
      await list.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { name, exact: true }).waitFor({ state: 'attached' })
    }
    const rows = page.getByRole('region', { name: 'Rows of the answer' })
    const input = (name: string) => page.getByRole('group', { name: 'Parameters' }).getByLabel(name)
    const tab = async (name: string): Promise<string> => {
      await page.getByRole('tab', { name, exact: true }).click()
      return await page.getByRole('tabpanel').or(page.locator('.command')).innerText()
    }

    await signIn(page, 'all')
    await page.getByRole('navigation').waitFor()
    await list.waitFor({ state: 'attached' })
    t.same(await list.getByRole('link', { includeHidden: true }).allTextContents(), [
      'find_products', 'sign_up', 'place_order', 'kinds'
    ])

    t.equal(documents.length, 1, 'the document is asked for once')

    await t.test('a select by GET', async (t) => {
      await open('find_products')
      await page.getByText('Products, the cheapest first').waitFor()
      await page.getByText('Nothing has run yet.').waitFor()
      await hasNoFinding('a form of parameters')
      t.equal(await input('most').getAttribute('placeholder'), 'default: 1000.00')
      t.equal(await input('size').getAttribute('placeholder'), 'default: 20')
      await input('categories').fill('3\n4')
      await input('name').fill('pen & é')
      await button(page, 'Run').click()
      await status(page, /^0 rows/).waitFor()
      await hasNoFinding('no row')
      await input('name').fill('')
      await input('size').fill('2')
      await button(page, 'Run').click()
      await status(page, /^2 rows/).waitFor()
      const first = await rows.getByRole('gridcell').first().innerText()
      await hasNoFinding('rows')
      await button(page, 'Next').click()
      await page.waitForFunction(([old]) => (globalThis as any).document.querySelector(
        '[aria-label="Rows of the answer"] [role=gridcell]'
      )?.textContent !== old, [first])
      await button(page, 'JSON').click()
      t.match(await page.getByLabel('The answer as JSON').innerText(), /"count": 2/)
      await button(page, 'Rows').click()
      t.match(calls, [
        /^GET .*\?categories=3&categories=4&name=pen\+%26\+%C3%A9 $/, /^GET .*\?categories=3&categories=4&size=2 $/,
        /^GET .*&size=2&after=%7B%22price%22.* $/
      ])
      t.match(await tab('curl'), /^curl 'http:.*\/api\/requests\/find_products\?categories=3/)
      t.match(await tab('fetch'), /await fetch\('http:.*\?categories=3/)
      t.match(await tab('TypeScript'), /client\.request\('find_products', \{[^]*categories: \[3, 4\][^]*method: 'GET'/)
      t.match(await tab('Python'), /urllib\.request\.Request\('http:.*\?categories=3/)
      await hasNoFinding('a call as a program')
    })

    await t.test('a refusal names the parameter', async (t) => {
      await input('most').fill('cheap')
      await button(page, 'Run').click()
      await page.getByRole('alert').getByText('/most').waitFor()
      t.match(await page.getByRole('alert').filter({ hasText: '/most' }).innerText(), /INVALID_VALUE/)
      await hasNoFinding('a refusal')
    })

    await t.test('a write by POST, after a question', async (t) => {
      calls.length = 0
      await open('sign_up')
      await input('email').fill('zoe@example.com')
      await input('name').fill("Zoë O'Hara")
      await input('country').fill('NL')
      await button(page, 'Run …').click()
      await hasNoFinding('the question')
      await button(page.getByRole('dialog'), 'Cancel').click()
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      t.same(calls, [])
      replies.push(false)
      await Promise.all([page.waitForEvent('dialog'), page.evaluate("location.hash = '#/demo?call=find_products'")])
      t.match(asked, [/not written yet/])
      t.equal(await input('email').inputValue(), 'zoe@example.com', 'what was entered stays')
      await button(page, 'Run …').click()
      await button(page.getByRole('dialog'), 'Call').click()
      await status(page, /^1 row inserted, id \d+/).waitFor()
      t.match(calls, [/^POST \/api\/requests\/sign_up \{[^]*"zoe@example.com"/])
      t.match(await tab('curl'), /^curl -X POST[^]*Zoë O'\\''Hara/)
      t.match(await tab('TypeScript'), /client\.request\('sign_up', \{[^]*\}\)$/)
      await button(page, 'Run …').click()
      await button(page.getByRole('dialog'), 'Call').click()
      await page.getByRole('alert').getByText('UNIQUE_VIOLATION').waitFor()
    })

    await t.test('several operations', async () => {
      await open('place_order')
      await input('customer').fill('1')
      await input('sku').fill('MUG-PORCEL')
      await button(page, 'Run …').click()
      await button(page.getByRole('dialog'), 'Call').click()
      await page.getByRole('region', { name: 'Rows of operation 3' }).waitFor()
      await hasNoFinding('results of operations')
    })

    await t.test('parameters of each kind', async (t) => {
      calls.length = 0
      await open('kinds')
      await input('countries').fill('NL\nGB')
      await input('newsletter').selectOption('true')
      t.equal(await button(page, 'born: pick').count(), 1, 'a date has the picker of the browser')
      await input('born').first().fill('1970-01-01')
      await input('prefers').fill('{"$gt": 0}')
      t.equal(await input('prefers').evaluate((each: any) => each.tagName), 'TEXTAREA')
      await button(page, 'Run').click()
      await status(page, /^0 rows/).waitFor()
      await input('prefers').fill('')
      await button(page, 'Run').click()
      await status(page, /^\d+ rows?/).waitFor()
      t.match(calls, [
        /countries=NL&countries=GB&newsletter=true&born=1970-01-01&prefers=%7B%22%24gt%22%3A\+0%7D/,
        /countries=NL&countries=GB&newsletter=true&born=1970-01-01 $/
      ])
      await page.getByRole('tab', { name: 'Body' }).click()
      t.same(await readBody(page), { countries: ['NL', 'GB'], newsletter: true, born: '1970-01-01' })
      await body(page).fill('{"countries": ["DE"]}')
      t.equal(await input('countries').inputValue(), 'DE', 'the form says what the body says')
      await body(page).fill('{"countries": []}')
      calls.length = 0
      await button(page, 'Run').click()
      await status(page, /^0 rows/).waitFor()
      t.match(calls, [/^POST /], 'an empty list is in no query string')
      await hasNoFinding('parameters of each kind')
    })

    await t.test('the history and the address lead back to a call', async (t) => {
      await page.getByRole('tab', { name: 'History' }).click()
      await page.locator('.history').getByRole('button', { name: /^sign_up/ }).first().click()
      await page.getByRole('heading', { name: 'sign_up', exact: true }).waitFor({ state: 'attached' })
      t.equal(await input('email').inputValue(), 'zoe@example.com')
      await page.reload()
      await input('email').waitFor()
      t.equal(await input('email').inputValue(), 'zoe@example.com')
      t.equal(await page.title(), 'sign_up – Row Query')
    })

    await t.test('a token that may only call requests sees them, and one that may call none ' +
      'sees nothing of them', async (t) => {
      const website = await visit(t, browser, address, view)
      await signIn(website.page, 'website')
      await website.page.getByRole('heading', { name: 'find_products', exact: true }).waitFor({ state: 'attached' })
      t.same(await website.page.getByRole('navigation').getByRole('link', { includeHidden: true }).allTextContents(), [
        'find_products', 'sign_up'
      ])
      await button(website.page, 'Run').click()
      await status(website.page, /^20 rows/).waitFor()
      t.same(await findingsOf(website.page), [])
      const products = await visit(t, browser, address, view)
      await signIn(products.page, 'products')
      await products.page.getByRole('region', { name: 'Rows of products' }).waitFor()
      t.equal(await products.page.getByText('Named requests').count(), 0)
      t.same([...website.faults, ...products.faults], [])
    })
    t.same(faults, [])
  })
}
