/**
 * The static page. It contains nothing about any database. Paths are relative to `{prefix}/docs`. If the documents are public, the
 * page opens them without a token.
 */
export const createHtml = (isPublic: boolean): string => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Row Query</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="docs/swagger-ui/static/swagger-ui.css">
  <link rel="stylesheet" href="docs/page.css">
</head>
<body data-documents="${isPublic ? 'public' : 'private'}">
  <header>
    <h1 id="title">Row Query</h1>
    <div id="choice" hidden>
      <label>Database <select id="database"></select></label>
      <label>Table <select id="table"></select></label>
    </div>
    <form id="form" autocomplete="off">
      <label>Token <input id="token" type="password" spellcheck="false" autocomplete="off"></label>
      <button>Open</button>
      <button id="forget" type="button" hidden>Forget</button>
    </form>
  </header>
  <p id="message" role="alert"></p>
  <main>
    <section id="start">
      <h2>Read and change rows from this page</h2>
      <p>The page lists the tables that your token may use, with their columns, and sends requests to this service.</p>
      <ol>
        <li><b>Get a token.</b> The demo prints one when it starts. Otherwise ask the operator of this service, who makes one with
          <pre><code>row-query token --name docs --permissions select</code></pre>
          and adds the printed entry to the configuration.</li>
        <li><b>Enter it at the top and press Open.</b> It is kept for this tab until the tab is closed, and is sent to this service only.
          If the service knows you without a token, for example by a login, leave the field empty.</li>
        <li><b>Choose a table, change the example and press Execute.</b> Writes change real rows.</li>
      </ol>
    </section>
    <section id="columns" hidden></section>
    <div id="reference"></div>
    <section id="curl" hidden>
      <div class="bar">
        <h3>The same request with curl</h3>
        <button id="copy" type="button">Copy</button>
      </div>
      <pre tabindex="0"><code id="command"></code></pre>
      <p>Set the token first, in a way that keeps it out of the shell's history: <code>read -rs TOKEN</code></p>
    </section>
    <section id="fields" hidden></section>
  </main>
  <p id="status" role="status"></p>
  <script src="docs/swagger-ui/static/swagger-ui-bundle.js"></script>
  <script src="docs/page.js" type="module"></script>
</body>
</html>
`
