-- Local items: who sells in category 10, from three states. A join of two streams without end.
SELECT p.name, p.city, p.state, a.id
FROM auction AS a
JOIN person AS p ON p.id = a.seller
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
