<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sex – messy – Confide</title>
<link rel="stylesheet" href="/static/confide.0d0af58de1cb.css">
<link rel="icon" href="/static/confide.906fc393b787.svg">
<script type="module" src="/static/confide.4345a0b54bae.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the contents</a>
<header class="site">
<div class="wide">
<a class="brand" href="/"><img src="/static/confide.906fc393b787.svg" alt="" width="24" height="24">Confide</a>
<nav aria-label="Site">
<ul>
<li><a href="/">Data sets</a></li>
<li><a href="/about">Protection</a></li>
<li><a href="/api">Programs</a></li>
</ul>
</nav>
</div>
</header>
<div class="wide">
<nav class="crumbs" aria-label="Where this page is">
<ol>
<li><a href="/">Data sets</a></li>
<li><a href="/messy">messy</a></li>
<li><span aria-current="page">Table</span></li>
</ol>
</nav>
<main id="main" tabindex="-1">
<h1>Sex</h1>
<p class="lead">messy</p>
<dl class="asked screen">
<div>
<dt>Rows</dt>
<dd>Sex</dd>
<dd class="change"><a href="/messy/table/build?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se#rows">Change<span class="visually-hidden"> the rows</span></a></dd>
</div>
<div>
<dt>Columns</dt>
<dd>none</dd>
<dd class="change"><a href="/messy/table/build?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se#columns">Change<span class="visually-hidden"> the columns</span></a></dd>
</div>
<div>
<dt>Measure</dt>
<dd>Standard deviation of income; Standard error</dd>
<dd class="change"><a href="/messy/table/build?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se#measure">Change<span class="visually-hidden"> the measure</span></a></dd>
</div>
<div>
<dt>Universe</dt>
<dd>Everyone</dd>
<dd class="change"><a href="/messy/table/build?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se#universe">Change<span class="visually-hidden"> the universe</span></a></dd>
</div>
</dl>
<div class="views screen">
<nav aria-label="Interval"><span aria-hidden="true">Interval</span>
<ul>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se" aria-current="true">Hide</a></li>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;interval=95&amp;error=se">95 %</a></li>
</ul>
</nav>
<nav aria-label="Error"><span aria-hidden="true">Error</span>
<ul>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income">Hide</a></li>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se" aria-current="true">Standard error</a></li>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=cv">Variation in %</a></li>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se,cv,reliability">All</a></li>
</ul>
</nav>
<nav aria-label="Zeros"><span aria-hidden="true">Zeros</span>
<ul>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se" aria-current="true">Show</a></li>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se&amp;zeros=hide">Hide</a></li>
</ul>
</nav>
<nav aria-label="Noise"><span aria-hidden="true">Noise</span>
<ul>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se" aria-current="true">Hide</a></li>
<li><a href="/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se&amp;noise=show">Show its spread</a></li>
</ul>
</nav>
</div>
<div class="confide-release">
<div class="confide-scroll" role="region" tabindex="0" aria-label="messy: table">
<table class="confide-table">
<caption>
<span class="title">messy</span>
<span class="scope">Everyone</span>
</caption>
<thead>
<tr>
<th scope="col">Sex</th>
<th scope="col" class="number">Standard deviation of income</th>
<th scope="col" class="number">Standard error</th>
</tr>
</thead>
<tbody>
<tr>
<th scope="row">F</th>
<td class="number">14,600</td>
<td class="number">1,600</td>
</tr>
<tr>
<th scope="row">Female</th>
<td class="number">19,000</td>
<td class="number">1,600</td>
</tr>
<tr>
<th scope="row">male</th>
<td class="number">17,700</td>
<td class="number">1,100</td>
</tr>
<tr>
<th scope="row" class="total">Total</th>
<td class="number total">17,800</td>
<td class="number total">1,400</td>
</tr>
</tbody>
</table>
</div>
<ul class="confide-notes">
<li>Answers come from protected records: some units exchanged a characteristic with others alike, and confidential numbers were changed at random, once for each unit, by 15% (standard deviation), and by 60% for units that stand out.</li>
<li>Counts are changed at random by at most 3 (standard deviation 1), the same change for the same units; counts of 1 never appear.</li>
<li>Totals and means are rounded to the second digit of their standard error, which sampling and protection make up.</li>
<li>Standard errors are from 4 replicate weights (brr); the noise of protection is in them, and they have two digits. Of cells with few units they are as of a simple sample with such weights.</li>
<li>Reliability is 1 (good), 2 (with care: coefficient of variation above 16.5 %) or 3 (not reliable: above 33.3 %).</li>
<li>Even who had all protected records would know of a person who is exposed by their keys the class of &#39;health&#39; in 35% of cases (30% by a good guess), and &#39;income&#39; to within 10 % in 17% of cases (15% by a good guess).</li>
<li>Totals need not equal the sum of their parts.</li>
<li class="policy">Policy: standard, version 1</li>
<li class="receipt">Receipt: cfd-b58a00a881de1ae251b30c34df1e993e</li>
</ul></div>
<h2 id="chart">Chart</h2>
<figure class="chart">
<figcaption><strong>Standard deviation of income: Sex</strong></figcaption>
<picture>
<source media="(prefers-color-scheme: dark) and (max-width: 40rem)" srcset="/charts/fb76e1dd866964f083d4b7e9ddc87333ae423bd1/dark-narrow.svg">
<source media="(max-width: 40rem)" srcset="/charts/fb76e1dd866964f083d4b7e9ddc87333ae423bd1/light-narrow.svg">
<source media="(prefers-color-scheme: dark)" srcset="/charts/fb76e1dd866964f083d4b7e9ddc87333ae423bd1/dark.svg">
<img src="/charts/fb76e1dd866964f083d4b7e9ddc87333ae423bd1/light.svg" alt="Bar chart of Standard deviation of income by Sex. Everyone.">
</picture>
<p class="hint">Its data are the table above, without totals. Numbers that are withheld are left out.</p>

</figure>
<div class="screen">
<h2 id="download">Download</h2>
<ul class="downloads">
<li><a class="button" href="/messy/table.csv?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se" download>CSV</a> <span class="hint">one row a cell, for statistical programs</span></li>
<li><a class="button" href="/messy/table.xlsx?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se" download>Excel</a> <span class="hint">as it stands here, with notes</span></li>
<li><a class="button" href="/messy/table.json?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se" download>JSON-stat</a> <span class="hint">for programs</span></li>
</ul>

<h2 id="code">The same from a program</h2>
<div class="samples">
<details name="samples" open>
<summary>Python</summary>
<pre class="code" tabindex="0" role="group" aria-label="Python" data-copy><code>import confide

answer = confide.open(&#39;http://127.0.0.1:8442&#39;)[&#39;messy&#39;].table(rows=[&#39;Sex&#39;], measure=[&#39;sd&#39;], of=&#39;income&#39;, error=[&#39;se&#39;])</code></pre>

</details>
<details name="samples">
<summary>R</summary>
<pre class="code" tabindex="0" role="group" aria-label="R" data-copy><code>library(httr2)

answer &lt;- request(&#34;http://127.0.0.1:8442/messy/table.csv&#34;) |&gt;
  req_url_query(
    rows = &#34;Sex&#34;,
    measure = &#34;sd&#34;,
    of = &#34;income&#34;,
    error = &#34;se&#34;
  ) |&gt;
  req_error(is_error = \(r) resp_status(r) != 200, body = \(r) resp_body_json(r)$detail) |&gt;
  req_perform()

data &lt;- read.csv(
  text = resp_body_string(answer),
  check.names = FALSE,
  na.strings = c(&#34;[c]&#34;, &#34;[x]&#34;, &#34;[z]&#34;),
  colClasses = c(&#34;Sex&#34; = &#34;character&#34;, &#34;Sex_label&#34; = &#34;character&#34;)
)</code></pre>

</details>
<details name="samples">
<summary>curl</summary>
<pre class="code" tabindex="0" role="group" aria-label="curl" data-copy><code>curl --fail --get http://127.0.0.1:8442/messy/table.csv \
  --data-urlencode rows=Sex \
  --data-urlencode measure=sd \
  --data-urlencode of=income \
  --data-urlencode error=se \
  --output messy.csv</code></pre>

</details>
<details name="samples">
<summary>Command line</summary>
<pre class="code" tabindex="0" role="group" aria-label="Command line" data-copy><code>confide table http://127.0.0.1:8442 messy --rows=Sex --measure=sd --of=income --error=se</code></pre>

</details>
</div>

<h2 id="cite">Cite</h2>
<p>The receipt stands for these numbers: the same question to the same data under the same policy has the same receipt.</p>
<pre class="code wrap" tabindex="0" role="group" aria-label="Citation" data-copy><code>http://127.0.0.1:8442. messy: Sex. Everyone. Protected under policy standard, version 1. Receipt cfd-b58a00a881de1ae251b30c34df1e993e. http://127.0.0.1:8442/messy/table?rows=Sex&amp;measure=sd&amp;of=income&amp;error=se</code></pre>

</div>
</main>
</div>
<footer class="site">
<div class="wide">
<p>Policy standard, version 1. Every answer is protected, or refused with a reason and a way forward.</p>
<p>Confide 0.1.0</p>
</div>
</footer>
</body>
</html>